import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeKey } from '#record';
import {
  appendMetaText,
  type AppendKey,
  type AppendMeta,
  type AppendRecord,
} from '../../../queue-backends/filesystem/journal/payloads.ts';

const text = fc.string({ unit: 'binary', maxLength: 20 });
const maybe = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(of, { nil: undefined, freq: 3 });

/** Without the members that are undefined, as frames are made. */
function without<T extends object>(of: T): T {
  return Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined)) as T;
}

const key = fc
  .record({
    k: text.map((session) => encodeKey('w', session === '' ? 's' : session)),
    e: text,
    o: fc.nat(),
    own: maybe(text),
    dup: maybe(fc.nat()),
  })
  .map((made) => without(made) as AppendKey);
const record = fc
  .record({
    k: fc.constantFrom(0, 1),
    at: fc.maxSafeNat(),
    len: fc.nat(),
    id: maybe(text),
    der: maybe(fc.constant(1 as const)),
    set: maybe(fc.record({ id: text, at: fc.nat() })),
  })
  .map((made) => without(made) as AppendRecord);

describe('the text of an append frame', () => {
  it('is what JSON.stringify makes of it, for every shape (QFS-01)', () => {
    const meta: fc.Arbitrary<AppendMeta> = fc.record({
      keys: fc.array(key, { minLength: 1, maxLength: 2 }),
      records: fc.array(record, { maxLength: 2 }),
      t: fc.maxSafeNat(),
    });
    fc.assert(
      fc.property(meta, (of) => {
        expect(appendMetaText(of)).toBe(JSON.stringify(of));
      }),
      { numRuns: 1000 },
    );
  });
});
