import { systemChance } from '#base';
import { openLmdbState, type StateWrite } from '#state';
import { testKey, testPermit } from '../support/queue-fixtures.ts';

/**
 * Writes into the state of its first argument, flushing each time, until the file may not grow any more, then does what the second argument
 * says: `close` at once, `flush` first, or `write` something small first; with `beside` each flush has a write begun after it.
 * Tells its story as one line of JSON; whatever nobody caught is in it.
 */
const [, , directory = '', ending = 'close'] = process.argv;
const uncaught: string[] = [];
process.on('unhandledRejection', (error) => uncaught.push(String(error)));

const key = testKey();
const permit = testPermit();
const writesMax = 5000;

function writesOf(round: number): StateWrite[] {
  const entry = {
    ordinal: 0,
    offset: round,
    length: 1,
    status: 'live',
    isDerivedId: false,
  } as const;
  const dedup = Array.from({ length: 200 }, (_, at): StateWrite => {
    return { table: 'dedup', key, eventId: `${round}-${at}`, entry };
  });
  const progress = { epoch: 'e', indexedThrough: round };
  return [...dedup, { table: 'progress', key, progress }];
}

const state = await openLmdbState({ directory, permit, chance: systemChance });

/** The flush begins before the second write, which is of a later commit, and must not hang on its failure. */
async function sideBySide(round: number): Promise<void> {
  await state.write(permit, []);
  const flush = state.flush();
  const second = state.write(permit, writesOf(round));
  for (const one of await Promise.allSettled([flush, second]))
    if (one.status === 'rejected') throw one.reason;
}

let flushed = -1;
let failure: unknown;
for (let round = 0; failure === undefined && round < writesMax; round += 1) {
  try {
    if (ending === 'beside') await sideBySide(round);
    else await state.write(permit, writesOf(round));
    await state.flush();
    flushed = round;
  } catch (error) {
    failure = error;
  }
}
const seen = state.getProgress(key)?.indexedThrough;
if (ending === 'write')
  await state.write(permit, [{ table: 'dedup', key, eventId: '0-0', entry: null }]);
if (ending === 'flush') await state.flush();
await state.close();
await new Promise((resolve) => setImmediate(resolve));
const { code, message } = failure as { code?: string; message?: string };
process.stdout.write(JSON.stringify({ flushed, seen, code, message, uncaught }));
