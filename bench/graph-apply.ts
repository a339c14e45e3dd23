import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseJson, systemChance, systemClock, type JsonObject } from '#base';
import { openEmbeddedGraph } from '#graph/embedded';
import type { EdgeMutation, GroupPart, Mutation, NodeMutation } from '#graph';
import {
  cutGroups,
  foldLogs,
  recordOf,
  spillBytes,
  stepCount,
} from '../test/support/graph-fixtures.ts';
import { testPermit } from '../test/support/queue-fixtures.ts';
import { makeWorkload } from '../test/support/workload.ts';
import { interleave, median, rounded, type BenchOptions, type Question } from './question.ts';

export type Groups = readonly (readonly GroupPart[])[];

interface Applied {
  readonly eventsPerSecond: number;
  readonly replayedPerSecond: number;
  readonly fileBytes: number;
}

/** The embedded store as the daemon uses it: fold results in, two groups in flight. */
async function applyToStore(groups: Groups): Promise<Applied> {
  return inFolder(async (folder) => {
    const path = join(folder, 'graph.db');
    const graph = await openEmbeddedGraph({
      path,
      rootId: 'bench',
      spillBytes,
      clock: systemClock,
      chance: systemChance,
    });
    const first = await timed(groups, (group) => graph.apply(testPermit(), group));
    const again = new Map(groups.flat().map(({ key }) => [key, null]));
    await graph.adopt(testPermit(), again);
    const replayed = await timed(groups, (group) => graph.apply(testPermit(), group));
    await graph.close();
    const { size } = await stat(path);
    return { eventsPerSecond: first, replayedPerSecond: replayed, fileBytes: size };
  });
}

/** The same rows by the plainest statements on the same thread: upsert nodes, labels and edges, one transaction per group. */
export async function applyBare(groups: Groups): Promise<Applied> {
  return inFolder(async (folder) => {
    const path = join(folder, 'bare.db');
    const database = new DatabaseSync(path);
    database.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384',
    );
    database.exec(bareSchema);
    const write = bareWriter(database);
    const apply = async (group: readonly GroupPart[]): Promise<void> => {
      database.exec('BEGIN IMMEDIATE');
      for (const { steps } of group)
        for (const { mutations } of steps) for (const mutation of mutations) write(mutation);
      database.exec('COMMIT');
    };
    const first = await timed(groups, apply);
    const replayed = await timed(groups, apply);
    database.close();
    const { size } = await stat(path);
    return { eventsPerSecond: first, replayedPerSecond: replayed, fileBytes: size };
  });
}

const bareSchema = `
CREATE TABLE node (nid INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, props TEXT NOT NULL) STRICT;
CREATE TABLE node_label (label TEXT NOT NULL, nid INTEGER NOT NULL, PRIMARY KEY (label, nid)) STRICT, WITHOUT ROWID;
CREATE INDEX label_of_node ON node_label (nid, label);
CREATE TABLE edge (src INTEGER, type TEXT, dst INTEGER, props TEXT NOT NULL, PRIMARY KEY (src, type, dst)) STRICT, WITHOUT ROWID;
CREATE INDEX edge_in ON edge (dst, type, src);
`;

function bareWriter(database: DatabaseSync): (mutation: Mutation) => void {
  const node = database.prepare(
    'INSERT INTO node (key, props) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET props = json_patch(props, excluded.props) RETURNING nid',
  );
  const label = database.prepare('INSERT OR IGNORE INTO node_label (label, nid) VALUES (?, ?)');
  const edge = database.prepare(
    'INSERT INTO edge (src, type, dst, props) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET props = json_patch(props, excluded.props)',
  );
  const numbers = new Map<string, number>();
  const upsert = (id: string, labels: readonly string[], props: string): number => {
    const nid = Number(node.get(id, props)?.['nid']);
    for (const name of labels) label.run(name, nid);
    numbers.set(id, nid);
    return nid;
  };
  const end = ({ id, labels }: EdgeMutation['from']): number =>
    numbers.get(id) ?? upsert(id, labels, '{}');
  return (mutation) => {
    if (mutation.kind === 'node') upsertOwned(mutation, upsert);
    else if (mutation.kind === 'edge') {
      const { from, type, to, properties } = mutation;
      edge.run(end(from), type, end(to), JSON.stringify(properties));
    }
  };
}

function upsertOwned(
  { id, labels, properties }: NodeMutation,
  upsert: (id: string, labels: readonly string[], props: string) => number,
): void {
  upsert(id, labels, JSON.stringify(properties));
}

/** Events per second over all groups, two of them in flight. */
export async function timed(
  groups: Groups,
  apply: (group: readonly GroupPart[]) => Promise<void>,
): Promise<number> {
  const events = groups.reduce((sum, group) => sum + stepCount(group), 0);
  const startedAt = systemClock.monotonic();
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let group = groups[next++]; group !== undefined; group = groups[next++])
      await apply(group);
  };
  await Promise.all([lane(), lane()]);
  return (events * 1000) / (systemClock.monotonic() - startedAt);
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export function workloadGroups(options: BenchOptions): Groups {
  const batches = makeWorkload({
    seed: 7,
    sessions: 100,
    turns: options.isSmoke ? 2 : 20,
    eventsPerBatch: 100,
  });
  const records = batches
    .flatMap(({ bodies }) => bodies)
    .map((body) => recordOf(parseJson(body) as JsonObject));
  return cutGroups(foldLogs(records), { keys: 32, steps: 32 });
}

export const graphApply: Question = {
  name: 'graph-apply',
  asks: 'Events that the embedded graph applies per second, against bare upserts of the same rows on one thread',
  async run(options) {
    const groups = workloadGroups(options);
    const { a: store, b: bare } = await interleave(
      options.rounds,
      () => applyToStore(groups),
      () => applyBare(groups),
    );
    const of = (runs: readonly Applied[], figure: keyof Applied): number =>
      median(runs.map((run) => run[figure]));
    return {
      figures: {
        eventsPerGroup: rounded(
          groups.reduce((sum, group) => sum + stepCount(group), 0) / groups.length,
        ),
        applied: rounded(of(store, 'eventsPerSecond')),
        bare: rounded(of(bare, 'eventsPerSecond')),
        ratio: rounded(of(store, 'eventsPerSecond') / of(bare, 'eventsPerSecond')),
        replayed: rounded(of(store, 'replayedPerSecond')),
        replayRatio: rounded(of(store, 'replayedPerSecond') / of(bare, 'replayedPerSecond')),
        fileSizeRatio: rounded(of(store, 'fileBytes') / of(bare, 'fileBytes')),
      },
    };
  },
};
