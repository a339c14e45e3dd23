import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemChance } from '#base';
import { nodeDisk, stagingNames } from '#disk';
import { bindGraph } from '../../src/daemon/bind-graph.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const names = stagingNames(process.pid, systemChance);

describe('binding a root to its graph (ING-540)', () => {
  it('takes the id of the first graph that the root meets, keeps it, and keeps what else stands there', async () => {
    await withTemporaryDirectory(async (folder) => {
      const path = join(folder, 'format.json');
      await writeFile(path, '{"format":1,"root_id":"SR-1","graph_id":null,"of_the_future":7}');
      const bind = (id: string): Promise<string> => bindGraph(nodeDisk(), path, names, id);
      expect(await bind('g1')).toBe('g1');
      expect(await bind('g2')).toBe('g1');
      const kept = JSON.parse(await readFile(path, 'utf8')) as unknown;
      expect(kept).toEqual({ format: 1, root_id: 'SR-1', graph_id: 'g1', of_the_future: 7 });
    });
  });
});
