import { join } from 'node:path';
import { isJsonObject, JsonInvalid, parseJson } from '#base';
import { configInvalid, type Config } from '#config';
import { atomicReplace, type Disk, type StagingNames } from '#disk';
import type { RootLayout } from '#roots';

/** Where the server is, and how we show who we are. The password goes to the driver and nowhere else. */
export interface Neo4jSettings {
  readonly uri: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
}

/** The password's file is read at each start, so that it can be changed beside the configuration (ING-018). CONFIG_INVALID where it is not there. */
export async function neo4jSettings(config: Config, disk: Disk): Promise<Neo4jSettings> {
  const file = config['graph.neo4j.password_file'];
  const password = file === null ? config['graph.neo4j.password'] : await readPassword(disk, file);
  return {
    uri: config['graph.neo4j.url'],
    user: config['graph.neo4j.user'] ?? undefined,
    password: password ?? undefined,
    database: config['graph.neo4j.database'] ?? undefined,
  };
}

async function readPassword(disk: Disk, path: string): Promise<string> {
  const bytes = await disk.readFile(path);
  if (bytes !== undefined)
    return Buffer.from(bytes)
      .toString('utf8')
      .replace(/\r?\n$/, '');
  const key = 'graph.neo4j.password_file';
  throw configInvalid({ problems: [{ key, origin: 'start', problem: `${path} is not there` }] });
}

/** The graph that the root met last. A start while the server is away needs it: events are taken then, and wait. */
export interface MetGraph {
  readonly graphId: string;
  readonly spillBytes: number;
}

export function metGraphPath({ graph }: Pick<RootLayout, 'graph'>): string {
  return join(graph, 'neo4j.json');
}

export async function readMetGraph(disk: Disk, path: string): Promise<MetGraph | undefined> {
  const bytes = await disk.readFile(path);
  if (bytes === undefined) return undefined;
  try {
    const json = parseJson(bytes);
    if (!isJsonObject(json)) return undefined;
    const { graph_id: graphId, spill_bytes: spillBytes } = json;
    return typeof graphId === 'string' && typeof spillBytes === 'number'
      ? { graphId, spillBytes }
      : undefined;
  } catch (error) {
    if (error instanceof JsonInvalid) return undefined;
    throw error;
  }
}

/** Written when it says something new. */
export async function keepMetGraph(
  disk: Disk,
  path: string,
  names: StagingNames,
  { graphId, spillBytes }: MetGraph,
): Promise<void> {
  const known = await readMetGraph(disk, path);
  if (known?.graphId === graphId && known.spillBytes === spillBytes) return;
  const text = `${JSON.stringify({ graph_id: graphId, spill_bytes: spillBytes })}\n`;
  await atomicReplace(disk, path, Buffer.from(text, 'utf8'), names);
}
