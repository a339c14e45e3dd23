import { join } from 'node:path';
import * as fc from 'fast-check';
import { open } from 'lmdb';
import { describe, expect, it } from 'vitest';
import { systemChance } from '#base';
import { memoryState, openLmdbState, type StateStore, type StateWrite } from '#state';
import { testKey, testPermit } from '../support/queue-fixtures.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const keys = [testKey('a'), testKey('b')] as const;
const ids = ['', '1', 'é', '\ud800', 'x'.repeat(1000)] as const;

const writes: fc.Arbitrary<StateWrite> = fc.oneof(
  fc.record({
    table: fc.constant('dedup' as const),
    key: fc.constantFrom(...keys),
    eventId: fc.constantFrom(...ids),
    entry: fc.option(
      fc.record({
        ordinal: fc.nat(),
        offset: fc.maxSafeNat(),
        length: fc.nat(),
        status: fc.constantFrom('live' as const, 'dead' as const, 'discarded' as const),
        isDerivedId: fc.boolean(),
      }),
    ),
  }),
  fc.record({
    table: fc.constant('progress' as const),
    key: fc.constantFrom(...keys),
    progress: fc.option(fc.record({ epoch: fc.string(), indexedThrough: fc.maxSafeNat() })),
  }),
);

function contentOf(store: StateStore): unknown {
  return keys.map((key) => [store.getProgress(key), ids.map((id) => store.getDedup(key, id))]);
}

describe('keys of the state', () => {
  it('stores an id of any length in 16 bytes behind the key (ING-516)', () =>
    withTemporaryDirectory(async (root) => {
      const directory = join(root, 'state');
      const state = await openLmdbState({ directory, permit: testPermit(), chance: systemChance });
      const entry = {
        ordinal: 0,
        offset: 0,
        length: 1,
        status: 'live',
        isDerivedId: false,
      } as const;
      const [key] = keys;
      await state.write(
        testPermit(),
        ids.map((eventId) => ({ table: 'dedup', key, eventId, entry })),
      );
      await state.close();
      const binary = { encoding: 'binary', keyEncoding: 'binary' } as const;
      const raw = open<Buffer, Buffer>({ path: directory, noSubdir: false, maxDbs: 8, ...binary });
      const stored = [...raw.openDB<Buffer, Buffer>({ name: 'dedup', ...binary }).getKeys()];
      await raw.close();
      expect(stored).toHaveLength(ids.length);
      for (const one of stored) expect(one).toHaveLength(key.length + 1 + 16);
    }));

  it('is read the same from LMDB as from memory after any writes, and after a reopening', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.array(writes, { maxLength: 6 }), { maxLength: 6 }), (batches) =>
        withTemporaryDirectory(async (root) => {
          const order = {
            directory: join(root, 'state'),
            permit: testPermit(),
            chance: systemChance,
          };
          const state = await openLmdbState(order);
          const model = memoryState({ permit: testPermit() });
          await Promise.all(batches.map((batch) => state.write(testPermit(), batch)));
          for (const batch of batches) await model.write(testPermit(), batch);
          const expected = contentOf(model);
          expect(contentOf(state)).toEqual(expected);
          await state.close();
          const again = await openLmdbState(order);
          expect(contentOf(again)).toEqual(expected);
          await again.close();
        }),
      ),
      { numRuns: 25 },
    ));
});
