import { type KeyGuard, type LetterCount, writeOffRefused } from '#queue';
import { emptyCursor, type Key, type Position } from '#record';
import { submitWithoutRecords } from '../append/duplicates.ts';
import { openOrRow, submitCommit } from '../commit.ts';
import type { Engine } from '../engine.ts';
import { refuseShut } from '../lifecycle/refuse-shut.ts';
import { refuseQuarantined } from '../read.ts';
import { positionOf } from '../session/key-state.ts';
import { loadState } from '../session/load-key.ts';
import { asRetry, withState } from '../with-state.ts';
import { assertWriter } from '../writer.ts';
import { liveLetterRecords } from '../session/dead-file.ts';
import { compareLetters, countLetters } from './count-letters.ts';

/** What the books of a key and its files say of its dead letters. */
export function lettersOf(engine: Engine, key: Key): Promise<LetterCount> {
  return withState(engine, key, 'letters', async (state) => {
    await state?.commitInFlight;
    return { key, ...(await compareLetters(engine, key, state)) };
  });
}

/**
 * Letters that are gone for good are counted as discarded (ING-717): one COMMIT that moves nothing but the books. Who did it stands in the audit. An epoch that
 * is over takes it in the next one, as it takes outcomes of letters.
 */
export async function writeOffLetters(engine: Engine, key: Key): Promise<LetterCount> {
  const { count, durable } = await engine.locks.with(
    key,
    (guard) => asRetry(key, () => writeOffUnder(engine, guard)),
    undefined,
    'write off',
  );
  await durable;
  await engine.locks.with(key, (guard) => asRetry(key, () => countLetters(engine, guard)));
  return count;
}

async function writeOffUnder(
  engine: Engine,
  guard: KeyGuard,
): Promise<{ readonly count: LetterCount; readonly durable: Promise<unknown> }> {
  const { key } = guard;
  refuseShut(engine, [key]);
  const known = await loadState(engine, guard);
  const after = known === undefined ? ('' as Position) : positionOf(known, known.committed);
  const state = await openOrRow(engine, guard, after);
  while (state.commitInFlight !== undefined) await state.commitInFlight;
  assertWriter(engine);
  refuseQuarantined(state);
  if (state.settling.size > 0)
    throw writeOffRefused({ key, reason: 'letters of it are being requeued: try again' });
  const counted = state.totals.dead;
  const found = await liveLetterRecords(engine, key, state);
  if (found >= counted)
    throw writeOffRefused({ key, reason: `its books count ${counted}, its files hold ${found}` });
  const opened = state.isOpen ? undefined : submitWithoutRecords(engine, [state]);
  const cursor = state.cursor ?? emptyCursor();
  const committed = submitCommit(
    engine,
    state,
    { key, after: positionOf(state, state.committed), cursor, applied: null, letters: [] },
    {
      offset: state.committed,
      records: 0,
      text: JSON.stringify(cursor),
      lines: [],
      passedDead: 0,
      discarded: 0,
      lost: counted - found,
    },
  );
  return { count: { key, counted, found }, durable: Promise.all([opened, committed]) };
}
