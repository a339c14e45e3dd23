import neo4j from 'neo4j-driver';
import { systemChance, systemClock } from '#base';
import type { GraphStore } from '#graph';
import { openNeo4jGraph, type Neo4jGraphOptions, type Neo4jGraphStore } from '#graph/neo4j';
import type { GraphHarness, GraphPlug } from '../contract/graph/harness.ts';
import { spillBytes } from '../support/graph-fixtures.ts';

/** The server of this run (test/services/run.ts). */
export function neo4jUri(): string {
  const uri = process.env['TEST_NEO4J_URL'];
  if (uri === undefined) throw new Error('no server: run "npm run test:services"');
  return uri;
}

export function openTestNeo4j(options: Partial<Neo4jGraphOptions> = {}): Promise<Neo4jGraphStore> {
  const defaults = { rootId: 'root', spillBytes, clock: systemClock, chance: systemChance };
  return openNeo4jGraph({ uri: neo4jUri(), ...defaults, ...options });
}

/** Runs a statement past the store: for a test's look behind it. */
export async function runRaw(
  text: string,
  parameters: Readonly<Record<string, unknown>> = {},
  uri: string = neo4jUri(),
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const driver = neo4j.driver(uri, undefined, { useBigInt: true, telemetryDisabled: true });
  const session = driver.session();
  try {
    return (await session.run(text, parameters)).records.map((record) => record.toObject());
  } finally {
    await session.close();
    await driver.close();
  }
}

/** The community edition has one database: each test empties it, and the schema stays. */
export async function emptyNeo4j(uri: string = neo4jUri()): Promise<void> {
  await runRaw(
    'MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS',
    undefined,
    uri,
  );
}

export const neo4jPlug: GraphPlug = {
  hasQueries: true,
  async makeHarness(): Promise<GraphHarness> {
    await emptyNeo4j();
    let store: GraphStore | undefined;
    const reopen: GraphHarness['reopen'] = async (options) => {
      await store?.close();
      store = await openTestNeo4j(options);
      return store;
    };
    return { open: reopen, reopen, dispose: async () => store?.close() };
  },
};
