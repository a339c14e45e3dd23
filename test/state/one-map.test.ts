import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemChance } from '#base';
import { openLmdbState, type StateWrite } from '#state';
import { testKey, testPermit } from '../support/queue-fixtures.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const entry = { ordinal: 0, offset: 0, length: 1, status: 'live', isDerivedId: false } as const;

describe.runIf(process.platform === 'linux')('the map of the state store', () => {
  it('P9: is one, however far the store grows: pages of an older one would be resident beside it', () =>
    withTemporaryDirectory(async (directory) => {
      const state = await openLmdbState({ directory, permit: testPermit(), chance: systemChance });
      const file = join(directory, 'data.mdb');
      for (let from = 0; from < 200_000; from += 20_000) {
        const writes = Array.from({ length: 20_000 }, (_, n): StateWrite => {
          return { table: 'dedup', key: testKey(), eventId: `e${from + n}`, entry };
        });
        await state.write(testPermit(), writes);
      }
      expect(statSync(file).size, 'more than a map has at first').toBeGreaterThan(15 * 2 ** 20);
      const maps = readFileSync('/proc/self/maps', 'latin1').split('\n');
      expect(maps.filter((line) => line.includes(file)).length).toBe(1);
      await state.close();
    }));
});
