import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson, isMillraceError, type JsonValue } from '#base';
import type { GraphStore } from '#graph';
import { permit } from '../contract/graph/harness.ts';
import { openTestGraph } from '../graph/embedded-harness.ts';
import { goldenBodies, withoutDuplicates } from '../handlers/sample-events.ts';
import { cutGroups, foldLogs, recordOf } from '../support/graph-fixtures.ts';
import { queryOf } from './cypher-queries.ts';
import { emptyNeo4j, openTestNeo4j } from './neo4j-plug.ts';

/** Queries that are tried, each made of its number. What the stores once disagreed about stands in test/support/cypher-tables.ts. */
const runs = Number(process.env['CYPHER_FUZZ_RUNS'] ?? 300);
const firstSeed = Number(process.env['CYPHER_FUZZ_SEED'] ?? 1);
const limits = { rows: 10_000, bytes: 50_000_000, timeMs: 30_000 };
let folder: string;
let embedded: GraphStore;
let server: GraphStore;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-fuzz-'));
  await emptyNeo4j();
  embedded = await openTestGraph(join(folder, 'graph.db'));
  server = await openTestNeo4j();
  for (const path of [
    'golden/made-every-claimed-event.ndjson',
    'amplifier/made-nested-delegation-two-parallel.ndjson',
  ]) {
    const parts = foldLogs(withoutDuplicates(goldenBodies(path).map(recordOf)));
    for (const group of cutGroups(parts, { keys: 20, steps: 500 }))
      for (const store of [embedded, server]) await store.apply(permit, group);
  }
});

afterAll(async () => {
  await embedded.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

/** Rows in their order, or the fault's kind. */
async function answer(store: GraphStore, text: string): Promise<readonly string[] | string> {
  try {
    const query = { text, parameters: {}, workspaces: undefined, limits };
    const { rows } = await store.cypher(query, new AbortController().signal);
    return rows.map((row) => canonicalJson(row as JsonValue));
  } catch (error) {
    return isMillraceError(error) ? error.code : `defect: ${(error as Error).message}`;
  }
}

function shown(answered: readonly string[] | string): string {
  return typeof answered === 'string'
    ? answered
    : `${answered.length}: ${answered.slice(0, 3).join()}`;
}

describe('random Cypher', () => {
  it('has equal answers from both stores (D9)', async () => {
    const seeds = Array.from({ length: runs }, (_, at) => firstSeed + at);
    const different: object[] = [];
    for (const seed of seeds) {
      const text = queryOf(seed);
      const [here, there] = [await answer(embedded, text), await answer(server, text)];
      if (JSON.stringify(here) !== JSON.stringify(there))
        different.push({ seed, text, here: shown(here), there: shown(there) });
    }
    expect(different).toEqual([]);
  }, 3_600_000);
});
