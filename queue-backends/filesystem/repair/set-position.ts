import { assert } from '#base';
import { failpoint } from '#disk';
import { parsePosition } from '#record';
import { positionSet } from '#signals';
import { type Engine, noteBacklog } from '../engine.ts';
import { frameKinds } from '../journal/frame.ts';
import { type PositionMode, type PositionPayload, encodeJson } from '../journal/payloads.ts';
import { submitFrame } from '../journal/submit.ts';
import { loadDead } from '../session/dead-ahead.ts';
import { type KeyState, dirty, passDead, positionOf } from '../session/key-state.ts';
import { takeLetter } from '../session/letters.ts';
import { trimTail } from '../session/tail.ts';

/** Kinds of frame that set a position (W8, W9). */
export type PositionKind = typeof frameKinds.reset | typeof frameKinds.quarantineClear;

/** What a RESET or a QUARANTINE-CLEAR changes in memory; recovery does the same. The caller looks for dead records ahead once it can read the log. */
export function takePosition(state: KeyState, kind: PositionKind, payload: PositionPayload): void {
  state.committed = payload.after;
  state.committedRecords = payload.records;
  state.end = payload.end;
  state.endRecords = payload.logRecords;
  state.nextOffset = Math.max(state.nextOffset, payload.end);
  state.filledTo = Math.min(state.filledTo, payload.end);
  state.syncedTo = Math.min(state.syncedTo, payload.end);
  state.seq = payload.seq;
  state.cursor = payload.cursor;
  state.cursorText = JSON.stringify(payload.cursor);
  state.applied = payload.applied;
  Object.assign(state.totals, payload.totals);
  state.boundaries = [];
  state.isSetAnew = true;
  state.mayGoBack = true;
  state.oldestMs = null;
  passDead(state);
  if (kind === frameKinds.quarantineClear && payload.more !== true) {
    const { op: operation, mode, by, ts } = payload;
    state.lastClear = { operation, mode, by, ts };
    state.quarantine = null;
  }
  if (payload.more !== true) tellAnew(state);
  dirty(state);
}

/** The frame said all that the offset record did: whatever lies there is evidence, and the next one goes over it. */
function tellAnew(state: KeyState): void {
  state.fault = undefined;
  if (!state.hasSoundRecord) state.isRecordRetold = true;
  state.hasSoundRecord = true;
}

/** Hands the frame over and takes it once it is durable; then looks anew which records are dead ahead, and tells of it. */
export async function setPosition(
  engine: Engine,
  state: KeyState,
  kind: PositionKind,
  payload: PositionPayload,
): Promise<void> {
  const from = positionOf(state, state.committed);
  await failpoint('position:before-frame');
  await submitFrame(engine, kind, encodeJson(payload), () => {
    const before = state.end - state.committed;
    takePosition(state, kind, payload);
    for (const line of payload.dead ?? []) takeLetter(engine, state, line);
    engine.totals.applied += payload.delta.applied;
    engine.totals.dead += payload.delta.dead;
    engine.totals.discarded += payload.delta.discarded ?? 0;
    if (state.quarantine === null) engine.quarantined.delete(state.key);
    noteBacklog(engine, state, before);
    trimTail(state);
  });
  await failpoint('position:after-frame');
  await loadDead(engine, state);
  engine.filler.want(state);
  const dead = payload.dead ?? [];
  positionSet.publish(() => ({
    key: state.key,
    mode: payload.mode,
    by: payload.by,
    operation: payload.op,
    from,
    to: positionOf(state, payload.after),
    letters: dead.length,
    deadRecords: dead.reduce((sum, { records = 1 }) => sum + records, 0),
  }));
}

/** Nothing of the key is on its way any more; the caller holds its lock, so nothing new comes. */
export async function settleInFlight(engine: Engine, state: KeyState): Promise<void> {
  while (state.commitInFlight !== undefined) await state.commitInFlight;
  while (state.nextOffset !== state.end) {
    // Else this would go round for ever, and hold the whole process.
    assert(engine.journal.isBusy, `positions of ${state.key} are given to records on their way`);
    await engine.journal.groupEnded();
  }
}

/** The cursor's epoch and offset in a position of the graph; undefined for another epoch's. */
export function offsetIn(state: KeyState, position: string | undefined): number | undefined {
  const parts = position === undefined ? undefined : parsePosition(position);
  return parts?.epoch === state.epoch ? parts.offset : undefined;
}

/** Members that every frame of one step has. */
export function payloadBase(
  engine: Engine,
  state: KeyState,
  order: { readonly operationId: string; readonly by: string },
  mode: PositionMode,
): Pick<PositionPayload, 'k' | 'e' | 'o' | 'op' | 'mode' | 'by' | 'ts'> {
  return {
    k: state.key,
    e: state.epoch,
    o: state.ordinal,
    op: order.operationId,
    mode,
    by: order.by,
    ts: new Date(engine.options.clock.now()).toISOString(),
  };
}
