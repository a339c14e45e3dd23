import { isMillraceError, sha256Hex } from '#base';
import type { Engine } from '../engine.ts';
import type { DeadLine, OutcomeLine } from '../journal/payloads.ts';
import { readLetterLines } from './dead-file.ts';
import {
  type DeadAhead,
  type KeyState,
  type PassedRange,
  dirty,
  pendingRecords,
} from './key-state.ts';
import { isOutcome } from './letters.ts';
import { isBoundary, readAt } from './read-record.ts';

/**
 * Looks which of a key's letters its log must be read around: ranges that were passed over, and dead records that the committed position has not
 * passed (ING-702). Only a letter whose position and digest are those of the log excuses anything (ING-708); a key in quarantine is not looked
 * into, its letters are believed. Called with the key's lock when its files were read, and when its position was set anew.
 */
export async function loadDead(engine: Engine, state: KeyState): Promise<void> {
  const letters = (await lettersOf(engine, state)).filter((line) => mayMatter(state, line));
  const isTrusted = state.quarantine !== null || state.fault !== undefined;
  const ranges: PassedRange[] = [];
  const ahead = new Map<number, DeadAhead>();
  state.ranges = [];
  for (const line of letters) {
    if (!isTrusted && !(await agrees(engine, state, line))) continue;
    const { pos_start: start, pos_end: end } = line;
    if (line.records !== undefined) ranges.push({ start, end, records: line.records });
    if (start >= state.committed) ahead.set(start, { end, records: line.records ?? 1 });
  }
  state.ranges = ranges.toSorted((a, b) => a.start - b.start);
  state.deadAhead = ahead;
}

async function lettersOf(engine: Engine, state: KeyState): Promise<readonly DeadLine[]> {
  const lines = [...(await readLetterLines(engine, state)), ...state.newDead];
  const letters = new Map<number, DeadLine>();
  for (const line of lines)
    if (!isOutcome(line) && !letters.has(line.pos_start)) letters.set(line.pos_start, line);
  return [...letters.values()];
}

function mayMatter(state: KeyState, { epoch, pos_start, pos_end, records }: DeadLine): boolean {
  if (epoch !== state.epoch || pos_start < state.base || pos_end > state.end) return false;
  return records !== undefined || pos_start >= state.committed;
}

async function agrees(engine: Engine, state: KeyState, line: DeadLine): Promise<boolean> {
  const { pos_start: start, pos_end: end } = line;
  // An operator has passed these positions over, whatever may stand there by now.
  if (line.records !== undefined) return true;
  try {
    const raw = await readAt(engine, state, start, end - start);
    return raw !== undefined && sha256Hex(raw) === line.sha256;
  } catch (error) {
    if (isMillraceError(error) && error.disposition === 'corrupt') return false;
    throw error;
  }
}

/**
 * Letters that the dead-letter file has and the books do not: the checkpoint that wrote the file was cut off before the offset record, and the
 * journal is gone (C11). What is missing in the books is theirs.
 */
export async function countUncounted(engine: Engine, state: KeyState): Promise<void> {
  const { accepted, applied, dead, discarded } = state.totals;
  let missing = accepted - applied - dead - discarded - pendingRecords(state);
  if (missing <= 0 || state.deadAhead.size === 0) return;
  // A position inside a record says nothing that could be counted by.
  if (!(await isBoundary(engine, state, state.committed))) return;
  const outcomes = await outcomesOf(engine, state);
  for (const [start, { records }] of [...state.deadAhead].toReversed()) {
    if (missing < records) break;
    missing -= records;
    const outcome = outcomes.get(start);
    const member =
      outcome === undefined ? 'dead' : outcome === 'discarded' ? 'discarded' : 'applied';
    // The root's books are those of the mark, or are summed up from the keys' when the journal is gone.
    state.totals[member] += records;
  }
  dirty(state);
}

async function outcomesOf(
  engine: Engine,
  state: KeyState,
): Promise<ReadonlyMap<number, OutcomeLine['kind']>> {
  const outcomes = new Map<number, OutcomeLine['kind']>();
  for (const line of [...(await readLetterLines(engine, state)), ...state.newDead])
    if (isOutcome(line) && line.pos_start !== undefined) outcomes.set(line.pos_start, line.kind);
  return outcomes;
}
