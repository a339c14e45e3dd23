import { isUtf8 } from 'node:buffer';
import { sha256Hex } from '#base';
import {
  type AppliedMark,
  type DeadLetterInput,
  type DeadLetterRecord,
  type KeyGuard,
  commitConflict,
  cursorRequired,
  cursorTooLarge,
  deadLetterState,
  epochMismatch,
  offsetMisaligned,
  positionRegression,
} from '#queue';
import { type Cursor, type Key, type Position, parseLine, parsePosition } from '#record';
import { letterIdAt, readLetters } from './dead-file.ts';
import { type Engine, noteBacklog } from './engine.ts';
import { frameKinds } from './frame.ts';
import { type KeyState, positionOf } from './key-state.ts';
import { type CommitPayload, type DeadLine, type OutcomeLine, encodeJson } from './payloads.ts';
import { countLines } from './read-lines.ts';
import { refuseQuarantined } from './read.ts';
import { trimTail } from './session-files.ts';
import { loadState } from './state-table.ts';
import { storedBytes } from './stored-line.ts';
import { submitFrame } from './submit.ts';
import { assertWriter } from './writer.ts';

/** W2 and W3: offset, cursor and dead letters in one frame (D5, ING-201…212). */
export async function commit(
  engine: Engine,
  key: Key,
  after: Position,
  cursor: Cursor,
  applied: AppliedMark | null,
  letters: readonly DeadLetterInput[],
): Promise<void> {
  if ((cursor as Cursor | undefined | null) === undefined || cursor === null)
    throw cursorRequired({ key });
  const done = await engine.locks.with(
    key,
    (guard) => handOver(engine, guard, after, cursor, applied, letters),
    undefined,
    'commit',
  );
  await done.durable;
}

async function handOver(
  engine: Engine,
  guard: KeyGuard,
  after: Position,
  cursor: Cursor,
  applied: AppliedMark | null,
  letters: readonly DeadLetterInput[],
): Promise<{ readonly durable: Promise<unknown> }> {
  const { key } = guard;
  const state = await loadState(engine, guard);
  if (state === undefined)
    throw epochMismatch({ key, position: after, epoch: 'none: the key was never seen' });
  refuseQuarantined(state);
  while (state.commitInFlight !== undefined) await state.commitInFlight;
  assertWriter(engine);
  const offset = checkPosition(state, after);
  const text = JSON.stringify(cursor);
  checkCursor(engine, state, offset, text, letters.length);
  if (
    offset === state.committed &&
    letters.length === 0 &&
    text === state.cursorText &&
    state.seq > 0
  )
    return { durable: Promise.resolve() };
  const records = await countCommitted(engine, guard, state, offset);
  const dead = await deadLinesOf(engine, state, letters);
  return { durable: submitCommit(engine, state, { offset, records, cursor, text, applied, dead }) };
}

function checkPosition(state: KeyState, after: Position): number {
  const parts = parsePosition(after);
  if (parts === undefined || parts.epoch !== state.epoch)
    throw epochMismatch({ key: state.key, position: after, epoch: state.epoch });
  if (parts.offset < state.committed)
    throw positionRegression({
      key: state.key,
      position: after,
      committed: positionOf(state, state.committed),
    });
  if (parts.offset > state.end) throw offsetMisaligned({ key: state.key, offset: parts.offset });
  return parts.offset;
}

function checkCursor(
  engine: Engine,
  state: KeyState,
  offset: number,
  text: string,
  letterCount: number,
): void {
  const bytesMax = engine.options.limits.cursorBytesMax;
  if (text.length > bytesMax && Buffer.byteLength(text) > bytesMax)
    throw cursorTooLarge({ key: state.key, bytes: Buffer.byteLength(text), bytesMax });
  // One position has one true cursor (ING-210); before the first commit of an epoch nothing is committed yet.
  if (offset === state.committed && state.seq > 0 && letterCount === 0 && state.cursorText !== text)
    throw commitConflict({ key: state.key, position: positionOf(state, offset) });
}

/** Records between the committed offset and `to`; `to` must end one of them. */
async function countCommitted(
  engine: Engine,
  guard: KeyGuard,
  state: KeyState,
  to: number,
): Promise<number> {
  if (to === state.committed) return 0;
  const at = state.boundaries.indexOf(to);
  if (at >= 0) {
    const before = state.boundaries.findIndex((end) => end > state.committed);
    return at - before + 1;
  }
  const inTail = state.tail.filter(
    ({ offset, bytes }) => offset >= state.committed && offset + bytes.length <= to,
  );
  if (inTail[0]?.offset === state.committed) {
    const last = inTail.at(-1);
    if (last !== undefined && last.offset + last.bytes.length === to) return inTail.length;
  }
  await engine.filler.fillNow(state, guard);
  const counted = await countLines(
    engine.files,
    state,
    state.committed,
    Math.min(to, state.filledTo),
  );
  if (counted.end !== to) throw offsetMisaligned({ key: state.key, offset: to });
  return counted.records;
}

async function deadLinesOf(
  engine: Engine,
  state: KeyState,
  letters: readonly DeadLetterInput[],
): Promise<(DeadLine | OutcomeLine)[]> {
  if (letters.length === 0) return [];
  const known = new Map((await readLetters(engine, state)).map((letter) => [letter.id, letter]));
  const ts = new Date(engine.options.clock.now()).toISOString();
  const lines: (DeadLine | OutcomeLine)[] = [];
  for (const letter of letters) {
    if ('discarded' in letter) lines.push(discardOf(known.get(letter.discarded), letter, ts));
    else {
      const line = deadLineOf(state, letter, ts);
      // Idempotent by (epoch, start): a position that is dead already adds nothing (ING-718).
      if (!known.has(line.id)) lines.push(line);
    }
  }
  return lines;
}

function discardOf(
  known: DeadLetterRecord | undefined,
  letter: { readonly discarded: string; readonly by: string },
  ts: string,
): OutcomeLine {
  const outcome = known?.outcome.kind ?? 'unknown';
  if (outcome !== 'live') throw deadLetterState({ id: letter.discarded, outcome });
  const start = known === undefined ? undefined : parsePosition(known.at)?.offset;
  return {
    v: 1,
    kind: 'discarded',
    id: letter.discarded,
    ts,
    by: letter.by,
    ...(known?.eventId === undefined ? {} : { event_id: known.eventId }),
    ...(start === undefined ? {} : { pos_start: start }),
  };
}

function deadLineOf(
  state: KeyState,
  letter: Extract<DeadLetterInput, { at: Position }>,
  ts: string,
): DeadLine {
  const start = parsePosition(letter.at);
  if (start === undefined || start.epoch !== state.epoch)
    throw epochMismatch({ key: state.key, position: letter.at, epoch: state.epoch });
  const { record } = parseLine(letter.raw, state.key);
  const bytes = Buffer.from(letter.raw);
  return {
    v: 1,
    id: letterIdAt(state, start.offset),
    ts,
    epoch: state.epoch,
    ordinal: state.ordinal,
    pos_start: start.offset,
    pos_end: start.offset + storedLength(state, start.offset, letter.raw),
    sha256: sha256Hex(letter.raw),
    attempts: letter.attempts,
    error: letter.error,
    ...(record?.id === undefined ? {} : { event_id: record.id }),
    ...(isUtf8(bytes)
      ? { payload: bytes.toString('utf8') }
      : { payload_b64: bytes.toString('base64') }),
  };
}

function storedLength(state: KeyState, offset: number, raw: Uint8Array): number {
  const inTail = state.tail.find((line) => line.offset === offset);
  return inTail?.bytes.length ?? storedBytes(raw);
}

interface NextCommit {
  readonly offset: number;
  readonly records: number;
  readonly cursor: Cursor;
  readonly text: string;
  readonly applied: AppliedMark | null;
  readonly dead: readonly (DeadLine | OutcomeLine)[];
}

function submitCommit(engine: Engine, state: KeyState, next: NextCommit): Promise<unknown> {
  const deadRecords = next.dead.filter((line) => !('kind' in line)).length;
  const discarded = next.dead.length - deadRecords;
  const payload: CommitPayload = {
    k: state.key,
    e: state.epoch,
    o: state.ordinal,
    after: next.offset,
    n: next.records,
    seq: state.seq + 1,
    cursor: next.cursor,
    applied: next.applied ?? state.applied,
    delta: {
      applied: next.records - deadRecords,
      dead: deadRecords - discarded,
      discarded,
      dup: state.pendingDuplicates,
    },
    ...(next.dead.length === 0 ? {} : { dead: next.dead }),
  };
  const durable = submitFrame(engine, frameKinds.commit, encodeJson(payload), (sequence) => {
    applyCommit(engine, state, payload, sequence);
    state.cursorText = next.text;
    engine.duplicatesInFlight -= payload.delta.dup;
  });
  state.pendingDuplicates = 0;
  engine.duplicatesInFlight += payload.delta.dup;
  const settled = durable.then(
    () => undefined,
    () => undefined,
  );
  state.commitInFlight = settled;
  void settled.then(() => {
    if (state.commitInFlight === settled) state.commitInFlight = undefined;
  });
  return durable;
}

/** What a durable COMMIT changes; recovery does the same. */
export function applyCommit(
  engine: Engine,
  state: KeyState,
  payload: CommitPayload,
  sequence: number,
): void {
  const before = state.end - state.committed;
  state.committed = payload.after;
  state.committedRecords += payload.n;
  state.boundaries = state.boundaries.filter((end) => end > payload.after);
  state.seq = payload.seq;
  state.cursor = payload.cursor;
  state.applied = payload.applied;
  state.lastFrame = sequence;
  for (const totals of [state.totals, engine.totals]) {
    totals.applied += payload.delta.applied;
    totals.dead += payload.delta.dead;
    totals.discarded += payload.delta.discarded;
  }
  for (const line of payload.dead ?? []) {
    state.newDead.push(line);
    noteLetter(engine, state, line);
  }
  if (state.committed === state.end) state.oldestMs = null;
  noteBacklog(engine, state, before);
  trimTail(state);
}

/** The id of a dead or discarded record is free again for the same content (ING-515). */
export function noteLetter(engine: Engine, state: KeyState, line: DeadLine | OutcomeLine): void {
  if ('kind' in line && line.kind === 'requeued') return;
  if (line.event_id === undefined) return;
  const entry = engine.indexer.find(state, line.event_id);
  if (entry !== undefined && entry.offset === line.pos_start)
    engine.indexer.add(state, line.event_id, {
      ...entry,
      status: 'kind' in line ? 'discarded' : 'dead',
    });
}
