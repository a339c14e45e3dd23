import { isUtf8 } from 'node:buffer';
import { assert, canonicalJson, type JsonValue, sha256Hex } from '#base';
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
  positionRegression,
  positionStale,
} from '#queue';
import { type Cursor, type Key, type Position, parseLine, parsePosition } from '#record';
import { readLetterLines, readLetters } from './session/dead-file.ts';
import { settleDuplicates, submitWithoutRecords } from './append/duplicates.ts';
import { type Engine, noteBacklog } from './engine.ts';
import { completeFinalise } from './lifecycle/finalise.ts';
import { refuseShut } from './lifecycle/refuse-shut.ts';
import { frameKinds } from './journal/frame.ts';
import { type KeyState, dirty, passDead, positionOf } from './session/key-state.ts';
import { isOutcome, letterIdAt, outcomeSince, takeLetter } from './session/letters.ts';
import { freshState } from './session/fresh-key.ts';
import { loadState } from './session/load-key.ts';
import {
  type CommitPayload,
  type DeadLine,
  type OutcomeLine,
  encodeJson,
} from './journal/payloads.ts';
import { quarantineKey } from './quarantine.ts';
import { countLines } from './session/read-lines.ts';
import { refuseQuarantined } from './read.ts';
import { storedBytes } from './session/stored-line.ts';
import { submitFrame } from './journal/submit.ts';
import { trimTail } from './session/tail.ts';
import { asRetry } from './with-state.ts';
import { assertWriter } from './writer.ts';

export interface CommitOrder {
  readonly key: Key;
  readonly after: Position;
  readonly cursor: Cursor;
  readonly applied: AppliedMark | null;
  readonly letters: readonly DeadLetterInput[];
}

/** W2 and W3: offset, cursor and dead letters in one frame (D5, ING-201…212). */
export async function commit(engine: Engine, order: CommitOrder): Promise<void> {
  const { key, cursor } = order;
  if ((cursor as Cursor | undefined | null) === undefined || cursor === null)
    throw cursorRequired({ key });
  const done = await engine.locks.with(
    key,
    (guard) => asRetry(key, () => handOver(engine, guard, order)),
    undefined,
    'commit',
  );
  await done.durable;
}

async function handOver(
  engine: Engine,
  guard: KeyGuard,
  order: CommitOrder,
): Promise<{ readonly durable: Promise<unknown> | undefined }> {
  const { key, after, cursor, letters } = order;
  refuseShut(engine, [key]);
  const state = await openOrRow(engine, guard, after);
  while (state.commitInFlight !== undefined) await state.commitInFlight;
  assertWriter(engine);
  refuseQuarantined(state);
  const offset = checkPosition(engine, state, after);
  const text = JSON.stringify(cursor);
  await checkSize(engine, state, text);
  // Before the first commit of a key no position has a cursor yet; a later epoch begins with the one that it was given (D27).
  const isSamePlace = offset === state.committed && (state.seq > 0 || state.ordinal > 0);
  // One position has one true cursor (ING-210).
  if (isSamePlace && !isSameJson(text, state.cursorText))
    throw commitConflict({ key, position: after });
  if (isSamePlace && letters.length === 0) return { durable: undefined };
  const records = await countCommitted(engine, guard, state, offset);
  const dead = await deadLinesOf(engine, state, letters);
  // An epoch that is over takes outcomes of its letters in the next one, which they open.
  const opened = state.isOpen ? undefined : submitWithoutRecords(engine, [state]);
  const committed = submitCommit(engine, state, order, { offset, records, text, ...dead });
  return { durable: Promise.all([opened, committed]) };
}

/** The state of an open epoch, or one that goes on from the key's row. */
export async function openOrRow(
  engine: Engine,
  guard: KeyGuard,
  after: Position,
): Promise<KeyState> {
  const { key } = guard;
  const state = await loadState(engine, guard);
  if (state?.isFinalising === true) await completeFinalise(engine, guard, state);
  else if (state !== undefined) return state;
  const row = engine.options.state.getRow(key);
  if (row !== undefined) return freshState(engine, key, row.workspace, row.session);
  throw epochMismatch({ key, position: after, epoch: 'none: the key was never seen' });
}

function isSameJson(a: string, b: string): boolean {
  const canonical = (text: string): string => canonicalJson(JSON.parse(text) as JsonValue);
  return a === b || canonical(a) === canonical(b);
}

function checkPosition(engine: Engine, state: KeyState, after: Position): number {
  const { key, epoch, ordinal } = state;
  // The end of the epoch that is over is the beginning of the next one, which nothing has opened yet.
  if (!state.isOpen && engine.options.state.getRow(key)?.position === after) return state.committed;
  const parts = parsePosition(after);
  if (parts === undefined || parts.epoch !== epoch || parts.ordinal !== ordinal)
    throw epochMismatch({ key, position: after, epoch });
  if (parts.offset < state.committed)
    throw positionRegression({
      key,
      position: after,
      committed: positionOf(state, state.committed),
    });
  // What was read before a reset has another cursor than the place that it leads to.
  if (state.isSetAnew && parts.offset !== state.committed)
    throw positionStale({ key, position: after });
  assert(parts.offset <= state.end, `${after} was given out for ${key} by this queue`);
  return parts.offset;
}

async function checkSize(engine: Engine, state: KeyState, text: string): Promise<void> {
  const bytesMax = engine.options.limits.cursorBytesMax;
  const bytes = Buffer.byteLength(text);
  if (bytes <= bytesMax) return;
  const fault = cursorTooLarge({ key: state.key, bytes, bytesMax });
  await quarantineKey(engine, state, fault);
  throw fault;
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
  assert(counted.end === to, `${to} is the end of a record of ${state.key}`);
  return counted.records;
}

interface DeadLines {
  readonly lines: readonly (DeadLine | OutcomeLine)[];
  /** Records among those that the commit passes that are dead, noted before or now. */
  readonly passedDead: number;
  /** Records in the letters that are discarded. */
  readonly discarded: number;
}

async function deadLinesOf(
  engine: Engine,
  state: KeyState,
  letters: readonly DeadLetterInput[],
): Promise<DeadLines> {
  if (letters.length === 0) return { lines: [], passedDead: 0, discarded: 0 };
  const known = letters.some((letter) => 'discarded' in letter)
    ? new Map((await readLetters(engine, state.key, state)).map((letter) => [letter.id, letter]))
    : new Map<string, DeadLetterRecord>();
  state.letterStarts ??= await startsOf(engine, state);
  const starts = state.letterStarts;
  const ts = new Date(engine.options.clock.now()).toISOString();
  const lines: (DeadLine | OutcomeLine)[] = [];
  let passedDead = 0;
  let discarded = 0;
  for (const letter of letters) {
    if ('discarded' in letter) {
      const isTaken = state.settling.has(letter.discarded);
      const outcome = isTaken ? 'being requeued' : outcomeSince(state, letter.discarded);
      if (outcome !== undefined) throw deadLetterState({ id: letter.discarded, outcome });
      const line = known.get(letter.discarded);
      lines.push(discardOf(state, line, letter, ts));
      discarded += line?.records ?? 1;
      continue;
    }
    const line = deadLineOf(state, letter, ts);
    if (line.pos_start >= state.committed) passedDead += 1;
    // Idempotent by (epoch, start): a position that is dead already adds nothing (ING-718).
    if (!starts.has(line.pos_start)) lines.push(line);
  }
  return { lines, passedDead, discarded };
}

/** Read once and kept up by `takeLetter`: a session of thousands of letters would read them all again for each one more. */
async function startsOf(engine: Engine, state: KeyState): Promise<Set<number>> {
  const lines = [...(await readLetterLines(engine, state)), ...state.newDead];
  return new Set(
    lines.flatMap((line) =>
      isOutcome(line) || line.epoch !== state.epoch ? [] : [line.pos_start],
    ),
  );
}

function discardOf(
  state: KeyState,
  known: DeadLetterRecord | undefined,
  letter: { readonly discarded: string; readonly by: string },
  ts: string,
): OutcomeLine {
  const outcome = known?.outcome.kind ?? 'unknown';
  if (outcome !== 'live') throw deadLetterState({ id: letter.discarded, outcome });
  const place = known === undefined ? undefined : parsePosition(known.at);
  return {
    v: 1,
    kind: 'discarded',
    id: letter.discarded,
    ts,
    by: letter.by,
    ...(known?.eventId === undefined ? {} : { event_id: known.eventId }),
    ...(place === undefined ? {} : { pos_start: place.offset }),
    ...(place === undefined || place.ordinal === state.ordinal ? {} : { ordinal: place.ordinal }),
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

export interface NextCommit extends DeadLines {
  /** Dead records whose letters are lost and that are written off: they count as discarded. */
  readonly lost?: number;
  readonly offset: number;
  readonly records: number;
  readonly text: string;
}

function payloadOf(state: KeyState, order: CommitOrder, next: NextCommit): CommitPayload {
  const { discarded, lost = 0 } = next;
  const dead = next.lines.filter((line) => !('kind' in line)).length;
  return {
    k: state.key,
    e: state.epoch,
    o: state.ordinal,
    after: next.offset,
    n: next.records,
    seq: state.seq + 1,
    cursor: order.cursor,
    applied: order.applied ?? state.applied,
    delta: {
      applied: next.records - next.passedDead,
      dead: dead - discarded - lost,
      discarded: discarded + lost,
      dup: state.pendingDuplicates,
    },
    ...(next.lines.length === 0 ? {} : { dead: next.lines }),
  };
}

export function submitCommit(
  engine: Engine,
  state: KeyState,
  order: CommitOrder,
  next: NextCommit,
): Promise<unknown> {
  const payload = payloadOf(state, order, next);
  state.pendingDuplicates = 0;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const discarded = next.lines.flatMap((line) => ('kind' in line ? [line.id] : []));
  for (const id of discarded) state.settling.set(id, { settled: promise });
  state.commitInFlight = promise.then(() => undefined);
  const settle = (isDurable: boolean): void => {
    for (const id of discarded) state.settling.delete(id);
    settleDuplicates(engine, state, payload.delta.dup, isDurable);
    state.commitInFlight = undefined;
    resolve(isDurable);
  };
  return submitFrame(
    engine,
    frameKinds.commit,
    encodeJson(payload),
    () => {
      applyCommit(engine, state, payload, next.text);
      settle(true);
    },
    () => settle(false),
  );
}

/** What a durable COMMIT changes; recovery does the same. */
function applyCommit(
  engine: Engine,
  state: KeyState,
  payload: CommitPayload,
  cursorText: string,
): void {
  const before = state.end - state.committed;
  state.committed = payload.after;
  state.committedRecords += payload.n;
  passDead(state);
  state.boundaries = state.boundaries.filter((end) => end > payload.after);
  state.seq = payload.seq;
  state.cursor = payload.cursor;
  state.cursorText = cursorText;
  state.applied = payload.applied;
  dirty(state);
  for (const totals of [state.totals, engine.totals]) {
    totals.applied += payload.delta.applied;
    totals.dead += payload.delta.dead;
    totals.discarded += payload.delta.discarded;
  }
  for (const line of payload.dead ?? []) takeLetter(engine, state, line);
  if (state.committed === state.end) state.oldestMs = null;
  noteBacklog(engine, state, before);
  trimTail(state);
}
