import { describe, expect, it } from 'vitest';
import { guards } from '../mutants/guard-table.ts';
import { listFiles, readText } from './source-tree.ts';

/** Guards without a mutant, by now: the number may fall and never rise (ING-T00). */
const missingMax = 3;

const files = new Set(listFiles('test', 'src'));

describe('guards (ING-T00)', () => {
  it('stand in the table, G1 to G46, once each', () => {
    const expected = Array.from({ length: 46 }, (_, at) => `G${at + 1}`);
    expect(guards.map(({ guard }) => guard)).toEqual(expected);
  });

  it.each(guards)('$guard, $race: has its test and its mutants, or says why not', (guard) => {
    const { test, mutants, missing } = guard;
    if (test !== undefined) expect(files.has(test), `${test} is no file`).toBe(true);
    for (const { file, defect } of mutants) {
      expect(files.has(file), `${file} is no file`).toBe(true);
      expect(readText(file), `${file} does not name its defect`).toContain(defect);
    }
    if (mutants.length > 0) expect(test, 'a mutant has a test').toBeDefined();
    else expect(missing).toMatch(/^(no mutant|no mutant yet): \w/);
  });

  it('lack no more mutants than before', () => {
    const missing = guards.filter(({ mutants }) => mutants.length === 0);
    expect(missing.length, 'lower missingMax').toBe(missingMax);
  });
});
