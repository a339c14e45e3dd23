import type { Key } from '#record';
import { frameKinds } from '../journal/frame.ts';
import {
  type CommitPayload,
  type FinalisePayload,
  type GenerationPayload,
  type PositionPayload,
  type RemovalPayload,
  type SeedPayload,
  decodeJson,
} from '../journal/payloads.ts';
import { forgetKey } from '../engine.ts';
import { takeFinalise } from '../lifecycle/finalise.ts';
import { countRemoval, takeTraces } from '../lifecycle/remove-key.ts';
import { takeSeed } from '../lifecycle/life-cycle.ts';
import { replayGeneration } from '../lifecycle/switch-generation.ts';
import { quarantineKey } from '../quarantine.ts';
import { type PositionKind, takePosition } from '../repair/set-position.ts';
import type { KeyState } from '../session/key-state.ts';
import { indexLetter, takeLetter } from '../session/letters.ts';
import { loadState } from '../session/load-key.ts';
import { type Replay, type Replayed, meet, takes, underLock } from './replay.ts';

/** What the payloads of frames that change an offset record have in common. */
interface Change {
  readonly k: Key;
  readonly e: string;
  readonly seq: number;
}

/** Unless the record holds the frame already, or the files of its epoch are gone. A number left out means that a frame before it was lost. */
async function changeKey<Payload extends Change>(
  replay: Replay,
  frame: Replayed,
  apply: (state: KeyState, payload: Payload) => void | Promise<void>,
): Promise<void> {
  const payload = decodeJson<Payload>(frame.payload);
  const { k, e, seq } = payload;
  const state = await underLock(replay, k, (guard) => loadState(replay.engine, guard));
  if (state?.epoch !== e || !state.isOpen) return;
  meet(replay, state);
  if (!takes(replay, state, frame)) return;
  if (seq !== state.seq + 1) replay.recount.add(k);
  await apply(state, payload);
  replay.appliedTo.set(k, frame.sequence);
}

export function applySeed(replay: Replay, frame: Replayed): Promise<void> {
  return changeKey<SeedPayload>(replay, frame, takeSeed);
}

/** From here on the key's log begins at another place, in another file; what the frames told before is in it. */
export function applyGeneration(replay: Replay, frame: Replayed): Promise<void> {
  const { engine, toldFrom } = replay;
  return changeKey<GenerationPayload>(replay, frame, async (state, payload) => {
    await underLock(replay, state.key, (guard) => replayGeneration(engine, guard, state, payload));
    const told = toldFrom.get(state.key);
    if (told !== undefined) toldFrom.set(state.key, Math.max(told, payload.base));
  });
}

/** What is left of the epoch goes at the end of the recovery, or before the next one begins. */
export async function applyFinalise(replay: Replay, frame: Replayed): Promise<void> {
  const { dup = 0 } = decodeJson<FinalisePayload>(frame.payload);
  if (frame.copiedFor === undefined) replay.engine.totals.duplicates += dup;
  await changeKey<FinalisePayload>(replay, frame, (state, payload) => {
    state.totals.duplicates += dup;
    takeFinalise(state, payload);
  });
}

/** The session was deleted: what a killed process had not taken away yet goes now, before a later frame begins its next life. */
export async function applyRemoval(replay: Replay, frame: Replayed): Promise<void> {
  const payload = decodeJson<RemovalPayload>(frame.payload);
  const { engine } = replay;
  const { k: key } = payload;
  countRemoval(engine, payload);
  const state = engine.table.get(key);
  if (state !== undefined) forgetKey(engine, state);
  engine.quarantined.delete(key);
  for (const known of [
    replay.toldFrom,
    replay.retold,
    replay.recount,
    replay.met,
    replay.appliedTo,
  ])
    known.delete(key);
  await underLock(replay, key, () => takeTraces(engine, key));
}

export async function applyCommit(replay: Replay, frame: Replayed): Promise<void> {
  const payload = decodeJson<CommitPayload>(frame.payload);
  const { engine } = replay;
  if (frame.copiedFor === undefined) addDelta(engine.totals, payload.delta);
  const state = await underLock(replay, payload.k, (guard) => loadState(engine, guard));
  if (state === undefined || state.epoch !== payload.e) return;
  meet(replay, state);
  if (!takes(replay, state, frame)) {
    for (const line of payload.dead ?? []) indexLetter(engine, state, line);
    return;
  }
  if (!state.hasSoundRecord) replay.retold.add(state.key);
  if (!state.hasSoundRecord || payload.seq !== state.seq + 1) replay.recount.add(state.key);
  state.committed = payload.after;
  state.committedRecords += payload.n;
  state.seq = payload.seq;
  state.cursor = payload.cursor;
  state.cursorText = JSON.stringify(payload.cursor);
  state.applied = payload.applied;
  addDelta(state.totals, payload.delta);
  if (state.committed > state.end && state.hasSoundRecord) await leaveRoom(replay, state);
  if (state.committed === state.end) state.oldestMs = null;
  for (const line of payload.dead ?? []) takeLetter(engine, state, line);
  replay.appliedTo.set(state.key, frame.sequence);
}

/** A position that was set anew is told whole, so it also makes good an offset record that is the damage. */
export async function applyPosition(
  replay: Replay,
  frame: Replayed,
  kind: PositionKind,
): Promise<void> {
  const { engine } = replay;
  const payload = decodeJson<PositionPayload>(frame.payload);
  const { k: key, delta, dead = [] } = payload;
  if (frame.copiedFor === undefined) {
    engine.totals.applied += delta.applied;
    engine.totals.dead += delta.dead;
    engine.totals.discarded += delta.discarded ?? 0;
  }
  const state = await underLock(replay, key, (guard) => loadState(engine, guard));
  const isCleared = kind === frameKinds.quarantineClear && payload.more !== true;
  if (isCleared) engine.quarantined.delete(key);
  if (state === undefined || state.epoch !== payload.e) return;
  // What stops a key is told by the order of its frames alone, whatever its record holds already.
  if (isCleared) state.quarantine = null;
  meet(replay, state);
  if (takes(replay, state, frame)) {
    takePosition(state, kind, payload);
    for (const line of dead) takeLetter(engine, state, line);
    replay.appliedTo.set(key, frame.sequence);
  } else for (const line of dead) indexLetter(engine, state, line);
}

/**
 * A commit passes records of which no frame tells any more: it proves that they were accepted, and how many. Their bytes are lost, their places and their
 * count are not, so that no position is given twice and the books go on to balance.
 */
async function leaveRoom(replay: Replay, state: KeyState): Promise<void> {
  const { engine } = replay;
  const message = `records of ${state.key} between ${state.end} and ${state.committed} are missing from the journal; they were committed`;
  await quarantineKey(engine, state, { code: 'RECORD_CORRUPT', message });
  await underLock(replay, state.key, (guard) => engine.filler.fillNow(state, guard));
  const lost = state.committedRecords - state.endRecords;
  state.totals.accepted += lost;
  engine.totals.accepted += lost;
  state.endRecords = state.committedRecords;
  state.end = state.committed;
  state.nextOffset = state.end;
  state.filledTo = state.end;
}

function addDelta(
  totals: { applied: number; dead: number; discarded: number; duplicates: number },
  delta: CommitPayload['delta'],
): void {
  totals.applied += delta.applied;
  totals.dead += delta.dead;
  totals.discarded += delta.discarded;
  totals.duplicates += delta.dup;
}
