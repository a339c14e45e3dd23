import { describe, expect, it } from 'vitest';
import { guards } from '../mutants/guard-table.ts';
import { listFiles, readText } from './source-tree.ts';

const files = new Set(listFiles('test', 'src'));

describe('guards (ING-T00)', () => {
  it('stand in the table, G1 to G46, once each', () => {
    const expected = Array.from({ length: 46 }, (_, at) => `G${at + 1}`);
    expect(guards.map(({ guard }) => guard)).toEqual(expected);
  });

  it.each(guards)('$guard, $race: has its test and its mutants', ({ test, mutants }) => {
    expect(files.has(test), `${test} is no file`).toBe(true);
    expect(mutants).not.toEqual([]);
    for (const { file, defect } of mutants) {
      expect(files.has(file), `${file} is no file`).toBe(true);
      expect(readText(file), `${file} does not name its defect`).toContain(defect);
    }
  });
});
