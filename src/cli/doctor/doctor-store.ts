import { connect } from 'node:net';
import type { Config } from '#config';
import type { Disk } from '#disk';
import { bareFiles, judgeLeft, parseClosingNote, type BareStore, type RootLayout } from '#roots';
import type { Finding } from './doctor.ts';

const stores: readonly BareStore[] = ['control', 'state', 'graph'];

/** Whether the files of LMDB and SQLite are as the last stop in order left them; without its note nobody can say, and a start looks at them. */
export async function checkLeftStores(layout: RootLayout, disk: Disk): Promise<Finding[]> {
  const check = 'stores as left';
  const bytes = await disk.readFile(layout.closingNote);
  const note = bytes === undefined ? undefined : parseClosingNote(bytes);
  if (note === undefined) return [];
  const verdicts = await judgeLeft(disk, layout, note);
  const changed = stores.filter((store) => verdicts[store] === 'changed');
  if (changed.length === 0)
    return [
      {
        check,
        result: 'ok',
        detail: 'control database, state and graph are as the last stop left them',
      },
    ];
  return changed.map((store) => ({
    check,
    result: 'warning',
    detail: `${bareFiles(layout)[store]} was changed since the last stop: an older copy, another program, or a failing disk`,
    next: 'keep a copy of the root, then start: it looks at the file, and refuses, mends or tells (docs/recovery.md)',
  }));
}

/** Ports that the schemes of the Neo4j driver stand for. */
const boltPort = 7687;
const connectMsMax = 3000;

/** Whether the graph's server can be reached at all; what it answers, the daemon finds out. Nothing for a graph in the root. */
export async function checkGraphServer(config: Config): Promise<Finding[]> {
  if (config['graph.store'] !== 'neo4j') return [];
  const check = 'graph server';
  const text = config['graph.neo4j.url'];
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined)
    return [
      {
        check,
        result: 'failed',
        detail: 'graph.neo4j.url is no URL',
        next: 'set it, such as bolt://127.0.0.1:7687',
      },
    ];
  const host = url.hostname;
  const port = url.port === '' ? boltPort : Number(url.port);
  const refusal = await tryToConnect(host, port);
  return refusal === undefined
    ? [{ check, result: 'ok', detail: `${host}:${port} takes connections` }]
    : [
        {
          check,
          result: 'failed',
          detail: `${host}:${port} cannot be reached: ${refusal}`,
          next: 'start the server or mend graph.neo4j.url; events are taken and wait meanwhile',
        },
      ];
}

/** Undefined when somebody takes the connection. */
function tryToConnect(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: connectMsMax });
    const end = (refusal: string | undefined): void => {
      socket.destroy();
      resolve(refusal);
    };
    socket.once('connect', () => end(undefined));
    socket.once('timeout', () => end(`no answer within ${connectMsMax} ms`));
    socket.once('error', (error) => end(error.message));
  });
}
