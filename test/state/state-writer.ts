import { systemChance } from '#base';
import { openLmdbState } from '#state';
import { testKey, testPermit } from '../support/queue-fixtures.ts';

/**
 * Writes rounds into the state of its first argument until it is killed, the first of them the second argument. A round is one transaction, an
 * entry and the progress; every third round is flushed, and then its number printed.
 */
const [, , directory = '', first = '0'] = process.argv;
const key = testKey();
const permit = testPermit();
const roundsMax = 1_000_000;

const state = await openLmdbState({ directory, permit, chance: systemChance });
for (let round = Number(first); round < roundsMax; round += 1) {
  const entry = {
    ordinal: 0,
    offset: round,
    length: 1,
    status: 'live',
    isDerivedId: false,
  } as const;
  await state.write(permit, [
    { table: 'dedup', key, eventId: `e${round}`, entry },
    { table: 'progress', key, progress: { epoch: 'e', indexedThrough: round } },
  ]);
  if (round % 3 !== 0) continue;
  await state.flush();
  process.stdout.write(`${round}\n`);
}
