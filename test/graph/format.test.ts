import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { namedQueries } from '#graph';
import { encodeKey } from '#record';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { node, part, permit } from '../contract/graph/harness.ts';
import { openTestGraph } from './embedded-harness.ts';

/** A graph file as version 1 wrote it; its content is `amplifier/made-nested-delegation-two-parallel.ndjson` of the samples. */
const sample = join(import.meta.dirname, '../disk-format/v1/graph.db.gz');
const digest = '63764952dc833911d807587933a0fdbb8a42b67810f3172b81b72a7600a7a389';
const session = '1cb9e5f5-48b2-4dd6-9728-bcc3b0303f2b';

describe('the graph file of version 1', () => {
  it('opens with its id, its rows and its digest, answers, and takes more', async () => {
    await withTemporaryDirectory(async (folder) => {
      const path = join(folder, 'graph.db');
      await writeFile(path, gunzipSync(await readFile(sample)));
      const graph = await openTestGraph(path, { rootId: 'root-v1', spillBytes: 1 });
      expect(graph.graphId).toBe('11111111-1111-4111-8111-111111111111');
      expect(graph.spillBytes).toBe(32 * 1024);
      expect(await graph.digest()).toEqual({ digest, nodes: 39, edges: 61 });
      const key = encodeKey('-home-dev-demo', session);
      const row = (await graph.armKeys(permit, [key])).get(key);
      expect(row?.rootId).toBe('root-v1');
      for (const { name, parameters } of namedQueries) {
        const given = parameters['session']?.isRequired === true ? { session } : {};
        expect((await graph.query(name, given)).columns.length).toBeGreaterThan(0);
      }
      await graph.apply(permit, [part('new', [[node('new', 'new', ['Session'])]])]);
      expect((await graph.digest()).nodes).toBe(40);
      await graph.close();
    });
  });
});
