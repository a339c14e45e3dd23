import { failpoint } from '#disk';
import {
  type AppliedMark,
  type ClearHelp,
  type ClearOrder,
  type ClearReport,
  type KeyGuard,
  clearRefused,
} from '#queue';
import { type Cursor, emptyCursor, type Key, parseCursor } from '#record';
import type { Engine } from '../engine.ts';
import { frameKinds } from '../journal/frame.ts';
import type { DeadLine } from '../journal/payloads.ts';
import { removeMarker } from '../quarantine.ts';
import { loadDead } from '../session/dead-ahead.ts';
import { type KeyState, pendingRecords, positionOf } from '../session/key-state.ts';
import { loadState } from '../session/load-key.ts';
import { parseOffset } from '../session/parse-offset.ts';
import { asRetry } from '../with-state.ts';
import { assertWriter } from '../writer.ts';
import { mayBeginAnew, mendBeginning } from './begin-anew.ts';
import {
  type Examination,
  examine,
  foldTo,
  type Standing,
  standingIn,
  waitingBehind,
} from './examine.ts';
import { rangeLetters } from './letters-of-pieces.ts';
import { countBreaks } from './scan-log.ts';
import { planWays } from './plan-clear.ts';
import { preservedFiles, readPreserved } from './preserved.ts';
import { booksAfter } from './books.ts';
import { offsetIn, payloadBase, setPosition, settleInFlight } from './set-position.ts';
import { skipToEnd } from './skip-to-end.ts';

/** One clear on its way. */
export interface Clearing {
  readonly engine: Engine;
  readonly state: KeyState;
  readonly order: ClearOrder;
  readonly help: ClearHelp;
  readonly found: Examination;
}

/** Where a way out leads: position, cursor there, and the letters of the step. */
export interface Move {
  readonly at: Standing;
  readonly cursor: Cursor | null;
  readonly cursorFrom: ClearReport['cursorFrom'];
  readonly applied: AppliedMark | null;
}

/**
 * Takes one of the five ways out of a quarantine (W9, ING-412): decided on what is on disk now, written as one QUARANTINE-CLEAR frame that holds
 * position, cursor, books and dead letters together. The key's lock is held over all of it.
 */
export function clearQuarantine(
  engine: Engine,
  key: Key,
  order: ClearOrder,
  help: ClearHelp,
): Promise<ClearReport> {
  return engine.locks.with(
    key,
    (guard) => asRetry(key, () => clearUnder(engine, guard, order, help)),
    undefined,
    'clear quarantine',
  );
}

async function clearUnder(
  engine: Engine,
  guard: KeyGuard,
  order: ClearOrder,
  help: ClearHelp,
): Promise<ClearReport> {
  const { key } = guard;
  const { mode } = order;
  const state = await loadState(engine, guard);
  if (state === undefined) throw clearRefused({ key, mode, reason: 'it is not known', ways: [] });
  assertWriter(engine);
  if (state.lastClear?.operation === order.operationId)
    return done(state, order, 'kept', [], false);
  if (state.quarantine === null)
    throw clearRefused({ key, mode, reason: 'it is not in quarantine', ways: [] });
  await settleInFlight(engine, state);
  await loadDead(engine, state);
  const found = await examine(engine, state);
  await refuseUnlessApplies(engine, state, order, found);
  await fillHole(engine, state);
  await mendBeginning(engine, guard, state, mode);
  const clearing: Clearing = { engine, state, order, help, found };
  const report = await take(clearing);
  await removeMarker(engine, state);
  return report;
}

function take(clearing: Clearing): Promise<ClearReport> {
  switch (clearing.order.mode) {
    case 'keep':
      return goOn(clearing, clearing.found.standing ?? clearing.found.fallback, 'kept');
    case 'offset-from-preserved':
      return fromPreserved(clearing);
    case 'restart-log':
      return restart(clearing);
    case 'skip-to-end':
      return skip(clearing);
    case 'pass-over':
      return passOver(clearing);
  }
}

async function refuseUnlessApplies(
  engine: Engine,
  state: KeyState,
  order: ClearOrder,
  found: Examination,
): Promise<void> {
  const { key } = state;
  const { mode } = order;
  const ways = await waysOf(engine, state, found);
  const asked = ways.find((way) => way.mode === mode);
  const others = ways.filter(({ applies }) => applies).map((way) => way.mode);
  if (asked?.applies !== true)
    throw clearRefused({
      key,
      mode,
      reason: asked?.reason ?? 'there is no such way',
      ways: others,
    });
}

/** The ways out of a stopped key, as they stand now. */
export async function waysOf(
  engine: Engine,
  state: KeyState,
  found: Examination,
): Promise<ReturnType<typeof planWays>> {
  const files = await preservedFiles(engine, state);
  return planWays({
    key: state.key,
    base: state.base,
    end: state.end,
    code: state.quarantine?.code ?? '',
    found,
    hasGeneration: found.generation !== undefined,
    mayBeginAnew: mayBeginAnew(state),
    preserved: files.filter(({ isOffset }) => isOffset).map(({ name }) => name),
  });
}

/** A log that is shorter than what was checkpointed of it becomes whole with zeros: positions stay, and the missing bytes have a place. */
async function fillHole(engine: Engine, state: KeyState): Promise<void> {
  const fileEnd = await engine.files.logEnd(state);
  if (fileEnd < state.filledTo) await engine.files.extend(state, state.filledTo);
}

/** Position and cursor at a place; a cursor that is not known there is folded from the generation file on. */
export async function moveTo(
  clearing: Clearing,
  at: Standing,
  cursorFrom: ClearReport['cursorFrom'],
): Promise<Move> {
  const { engine, state, found, help } = clearing;
  if (at.cursor !== undefined) return { at, cursor: at.cursor, cursorFrom, applied: at.applied };
  const start = found.generation?.cursor ?? null;
  const cursor = await foldTo(engine, state, start, at.offset, found.dead, help.fold);
  return { at, cursor, cursorFrom: 'folded', applied: at.applied };
}

/** The drain goes on at a place, with what lies behind it as it is. */
async function goOn(
  clearing: Clearing,
  at: Standing,
  cursorFrom: ClearReport['cursorFrom'],
): Promise<ClearReport> {
  return moveAndClear(clearing, await moveTo(clearing, at, cursorFrom), [], at.offset);
}

async function fromPreserved(clearing: Clearing): Promise<ClearReport> {
  const { engine, state, order } = clearing;
  const refuse = (reason: string): Error => {
    const { key } = state;
    return clearRefused({ key, mode: order.mode, reason, ways: [] });
  };
  if (order.file === undefined) throw refuse('no file is named');
  const bytes = await readPreserved(engine, state, order.file);
  if (bytes === undefined) throw refuse(`${order.file} is no offset.* file in its folder`);
  const parsed = parseOffset(bytes);
  if (parsed.kind === 'unsupported')
    throw refuse(`${order.file} needs reader version ${parsed.minReader}`);
  if (parsed.kind === 'corrupt') throw refuse(`${order.file} cannot be read: ${parsed.reason}`);
  const record =
    parsed.kind === 'native'
      ? parsed.record
      : {
          epoch: state.epoch,
          offset: parsed.offset,
          applied: state.applied,
          seq: state.seq,
          cursor: parseCursor(parsed.cursor).cursor,
        };
  const at = await standingIn(engine, state, record);
  if (typeof at === 'string') throw refuse(`${order.file} does not fit: ${at}`);
  if (at.cursor === undefined && clearing.found.generation === undefined)
    throw refuse(`${order.file} holds no cursor, and the generation file is damaged`);
  return goOn(clearing, at, 'preserved');
}

function restart(clearing: Clearing): Promise<ClearReport> {
  const { state, found } = clearing;
  const at: Standing = {
    offset: state.base,
    cursor: found.generation?.cursor ?? emptyCursor(),
    applied: found.fallback.applied,
    seq: found.fallback.seq,
    isOfBooks: false,
  };
  return goOn(clearing, at, 'generation');
}

/** The first damaged range behind the position becomes a letter; when the position stands before it, it is passed in the same frame. */
async function passOver(clearing: Clearing): Promise<ClearReport> {
  const { engine, state, order, found, help } = clearing;
  const at = found.standing ?? found.fallback;
  const [range] = found.ahead.damage;
  if (range === undefined) throw new RangeError('a pass over needs damage');
  const { code, message } = state.quarantine ?? { code: '', message: '' };
  const words = {
    ts: new Date(engine.options.clock.now()).toISOString(),
    error: {
      code,
      message: `bytes ${range.from} to ${range.to} of the log were passed over by ${order.by}: ${message}`,
    },
  };
  const records = await recordsIn(clearing, at, range);
  const letters = await rangeLetters(engine.files, state, range, records, words);
  const move = await moveTo(clearing, at, 'kept');
  const after = range.from === at.offset ? range.to : at.offset;
  const row = help.graphRow;
  const rowOffset = offsetIn(state, row?.position);
  const isInside = rowOffset !== undefined && rowOffset > range.from && rowOffset <= range.to;
  return moveAndClear(clearing, isInside ? { ...move, applied: row } : move, letters, after);
}

/** By the books, where they speak of this position and nothing else is damaged; else by its line breaks. */
async function recordsIn(
  { engine, state, found }: Clearing,
  at: Standing,
  range: { readonly from: number; readonly to: number },
): Promise<number> {
  const damaged = waitingBehind(state, at, found.ahead) - found.ahead.waiting;
  if (found.ahead.damageCount === 1) return damaged;
  const breaks = await countBreaks(engine.files, state, { offset: range.from, end: range.to });
  return Math.min(breaks, damaged);
}

async function skip(clearing: Clearing): Promise<ClearReport> {
  const { found, state, order } = clearing;
  const move = await moveTo(clearing, found.standing ?? found.fallback, 'kept');
  const letters = await skipToEnd(clearing, move);
  return done(state, order, move.cursorFrom, letters, true);
}

async function moveAndClear(
  clearing: Clearing,
  move: Move,
  letters: readonly DeadLine[],
  after: number,
): Promise<ClearReport> {
  const { engine, state, order } = clearing;
  const { at } = move;
  await keepReplaced(clearing);
  const books = await booksAfter(engine, state, clearing.found.dead, { at, after, letters });
  await failpoint('clear:before-frame');
  await setPosition(engine, state, frameKinds.quarantineClear, {
    ...payloadBase(engine, state, order, order.mode),
    after,
    seq: Math.max(state.seq, at.seq) + 1,
    cursor: move.cursor,
    applied: move.applied,
    end: state.end,
    ...books,
    ...(letters.length === 0 ? {} : { dead: letters }),
  });
  return done(state, order, move.cursorFrom, letters, true);
}

/** The record that is about to be replaced stays as a file (ING-219). */
async function keepReplaced({ engine, state }: Clearing): Promise<void> {
  await engine.records.keepReplaced(engine.files.folderOf(state.key));
}

export function done(
  state: KeyState,
  order: ClearOrder,
  cursorFrom: ClearReport['cursorFrom'],
  letters: readonly Pick<DeadLine, 'records'>[],
  isNew: boolean,
): ClearReport {
  return {
    key: state.key,
    operationId: order.operationId,
    mode: order.mode,
    isNew,
    committed: positionOf(state, state.committed),
    cursorFrom,
    letters: letters.length,
    deadRecords: letters.reduce((sum, { records = 1 }) => sum + records, 0),
    pending: pendingRecords(state),
  };
}
