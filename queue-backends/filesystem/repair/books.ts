import type { Engine } from '../engine.ts';
import { liveLetterRecords } from '../session/dead-file.ts';
import type { DeadLine, PositionPayload } from '../journal/payloads.ts';
import { type KeyState, pendingRecords } from '../session/key-state.ts';
import { type Examination, type Standing, survey, waitingBehind } from './examine.ts';

export interface BookMove {
  readonly at: Standing;
  /** Where the position ends up: at the standing, or behind letters that lead from it. */
  readonly after: number;
  readonly letters: readonly DeadLine[];
}

/**
 * The books behind a move, so that every accepted record is in one place (ING-717): what lies behind the position waits, damaged or not; letters
 * are dead; what is left was applied. Dead records ahead of the position are dead already.
 */
export async function booksAfter(
  engine: Engine,
  state: KeyState,
  dead: Examination['dead'],
  move: BookMove,
): Promise<Pick<PositionPayload, 'records' | 'logRecords' | 'totals' | 'delta'>> {
  const { at, after, letters } = move;
  const ahead = await survey(engine, state, dead, at.offset, state.end);
  const before = await countBefore(engine, state, dead, at);
  const waitingBefore = waitingBehind(state, at, ahead);
  const newDead = recordsOf(letters);
  const waiting = waitingBefore - newDead;
  const deadAhead = ahead.sound - ahead.waiting + rangeRecords(state, at.offset, state.end);
  const { accepted, discarded } = state.totals;
  const allDead = state.totals.dead + newDead;
  const applied = accepted - allDead - discarded - waiting;
  const over = await countedTwice(engine, state, Math.max(0, -applied));
  return {
    records: before + recordsOf(letters.filter(({ pos_start: start }) => start < after)),
    logRecords: before + waitingBefore + deadAhead,
    totals: {
      accepted: accepted + over.unknown,
      applied: Math.max(0, applied),
      dead: allDead - over.dead,
      discarded: discarded - over.discarded,
    },
    delta: {
      applied: hasBooks(engine, state)
        ? Math.max(0, applied) - state.totals.applied
        : pendingRecords(state) - waiting - newDead + rootResidual(engine),
      dead: newDead - over.dead,
      ...(over.discarded === 0 ? {} : { discarded: -over.discarded }),
    },
  };
}

/**
 * Records that wait again and stand in the books as something else: dead, where their letter is lost, or discarded, where that was written off. What is left
 * are books that were lost with the record and the state store: they begin anew with what the log shows.
 */
async function countedTwice(
  engine: Engine,
  state: KeyState,
  over: number,
): Promise<{ readonly dead: number; readonly discarded: number; readonly unknown: number }> {
  if (over === 0) return { dead: 0, discarded: 0, unknown: 0 };
  const found = await liveLetterRecords(engine, state.key, state);
  const dead = Math.min(over, Math.max(0, state.totals.dead - found));
  const discarded = Math.min(over - dead, state.totals.discarded);
  return { dead, discarded, unknown: over - dead - discarded };
}

function recordsOf(letters: readonly DeadLine[]): number {
  return letters.reduce((sum, { records = 1 }) => sum + records, 0);
}

/** Records of this log before a standing: as the books have it, or counted in the log. */
async function countBefore(
  engine: Engine,
  state: KeyState,
  dead: Examination['dead'],
  at: Standing,
): Promise<number> {
  if (at.offset === state.committed && state.hasSoundRecord) return state.committedRecords;
  const { sound, breaks } = await survey(engine, state, dead, state.base, at.offset);
  return sound + breaks + rangeRecords(state, state.base, at.offset);
}

function rangeRecords(state: KeyState, from: number, to: number): number {
  return state.ranges
    .filter(({ start }) => start >= from && start < to)
    .reduce((sum, { records }) => sum + records, 0);
}

function hasBooks(engine: Engine, state: KeyState): boolean {
  return state.hasSoundRecord || engine.options.state.getRow(state.key) !== undefined;
}

/** What the books of the root miss: of a key whose own books are gone nothing else is known. */
function rootResidual(engine: Engine): number {
  const { accepted, applied, dead, discarded } = engine.totals;
  let pending = 0;
  for (const state of engine.table.values()) pending += pendingRecords(state);
  return accepted - applied - dead - discarded - pending;
}
