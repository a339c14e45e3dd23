import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemChance, systemClock } from '#base';
import { openEmbeddedGraph, type EmbeddedGraphStore } from '#graph/embedded';

let folder: string;
let graph: EmbeddedGraphStore;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-stuck-'));
  const path = join(folder, 'graph.db');
  const given = { rootId: 'root', spillBytes: 32 * 1024 };
  graph = await openEmbeddedGraph({ path, clock: systemClock, chance: systemChance, ...given });
});

afterAll(async () => {
  await graph.close();
  await rm(folder, { recursive: true, force: true });
});

const limits = { rows: 10, bytes: 1e6, timeMs: 100 };
const ask = (text: string): Promise<unknown> =>
  graph
    .cypher({ text, parameters: {}, workspaces: undefined, limits }, new AbortController().signal)
    .then(({ rows }) => rows);

describe('a query that nothing within it can stop', () => {
  it('ends with its thread, as one that was too slow, and the next one is answered', async () => {
    const text = `RETURN '${'a'.repeat(60)}!' =~ '(a|a)*b' AS x`;
    await expect(ask(text)).rejects.toMatchObject({ code: 'QUERY_TIMEOUT' });
    await expect
      .poll(() => ask('RETURN 1 AS x').catch(() => undefined), { timeout: 10_000 })
      .toEqual([[1]]);
  }, 20_000);
});
