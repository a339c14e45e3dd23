import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IdFilter, IdFilters } from '../../../queue-backends/filesystem/append/id-filter.ts';

describe('the filter of event ids', () => {
  it('knows every id that was added, of its key and in any order (ING-512)', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(5), fc.string({ unit: 'binary' }))), (added) => {
        const filter = new IdFilter();
        for (const [salt, id] of added) filter.add(salt, id);
        for (const [salt, id] of added) expect(filter.mayHave(salt, id)).toBe(true);
      }),
    );
  });

  it('takes nearly no new id for a known one, though ids and keys are alike', () => {
    const filter = new IdFilter();
    for (let at = 0; at < 100_000; at += 1) filter.add(at % 10, `run-1-${at}`);
    const wrong = Array.from({ length: 20_000 }, (_, at) => at).filter(
      (at) => filter.mayHave(at % 10, `run-1-${at + 1}`) || filter.mayHave(3, `run-2-${at}`),
    );
    expect(wrong.length).toBeLessThan(200);
  });

  it('lets the store be asked for every id once its memory went to newer keys (P9)', () => {
    const filters = new IdFilters();
    const first = filters.forNewKey();
    first.filter.add(first.salt, 'known');
    expect(first.filter.mayHave(first.salt, 'new')).toBe(false);
    for (let key = first; key.filter === first.filter; key = filters.forNewKey())
      for (let at = 0; at < 100_000; at += 1) key.filter.add(key.salt, `${at}`);
    for (let round = 0; round < 4; round += 1) {
      const { filter, salt } = filters.forNewKey();
      for (let at = 0; at < 400_000; at += 1) filter.add(salt, `${at}`);
    }
    expect(first.filter.mayHave(first.salt, 'known')).toBe(true);
    expect(first.filter.mayHave(first.salt, 'new')).toBe(true);
  });
});
