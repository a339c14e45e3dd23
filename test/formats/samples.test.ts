import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dataFolder, graphOf, translateSample } from './translate-file.ts';

const guide = readFileSync(join(import.meta.dirname, '../../docs/formats.md'), 'utf8');
/** Folders whose files `millrace post` takes line by line. */
const folders = ['amplifier', 'claude-code', 'claude-hooks', 'codex', 'otlp'];

/** `| file | lines | events | nodes | edges | rejects |` of the guide. */
const told = new Map(
  [...guide.matchAll(/^\| `([\w-]+\/[^`]+)` \| ([\d |]+) \|$/gm)].map(
    ([, file = '', counts = '']) => [file, counts.split('|').map(Number)],
  ),
);

/** `| format | files | … |` of the guide. */
const totals = new Map(
  [...guide.matchAll(/^\| `([\w-]+)` \| ([\d |]+) \|$/gm)].map(([, format = '', counts = '']) => [
    format,
    counts.split('|').map(Number),
  ]),
);

describe('recorded sessions', () => {
  for (const folder of folders) {
    it(`of ${folder} give what the guide says, and the same graph when they are posted again`, async () => {
      let total = [0, 0, 0, 0, 0, 0];
      for (const name of readdirSync(join(dataFolder, folder)).sort()) {
        const path = `${folder}/${name}`;
        const { lines, records, rejects } = await translateSample(path);
        const graph = await graphOf(records, records);
        const counts = [lines, records.length, graph.nodes.size, graph.edges.size, rejects.length];
        expect([path, told.get(path)]).toEqual([path, counts]);
        expect([path, graph.findings]).toEqual([path, []]);
        total = [1, ...counts].map((count, at) => count + (total[at] ?? 0));
      }
      expect([folder, totals.get(folder)]).toEqual([folder, total]);
    });
  }
});
