import pLimit, { type LimitFunction } from 'p-limit';
import { isMillraceError } from '#base';
import type { StateWrite } from '#state';
import { failpoint } from '#disk';
import type { KeyGuard } from '#queue';
import { checkpointed } from '#signals';
import { copyFrames, linesInJournal } from './journal/copy-frames.ts';
import { writeDeadFile } from './session/dead-file.ts';
import { submitDuplicates } from './append/duplicates.ts';
import type { Engine } from './engine.ts';
import { frameKinds } from './journal/frame.ts';
import { rowsOf } from './session/key-row.ts';
import { type KeyState, dirty, isDirty } from './session/key-state.ts';
import { recordOf } from './session/record-of.ts';
import { type MarkPayload, encodeJson } from './journal/payloads.ts';
import { finishRemovals } from './lifecycle/remove-key.ts';
import { makeFolder } from './session/make-folder.ts';
import { completeFinalise } from './lifecycle/finalise.ts';
import { removeOtherGenerations } from './lifecycle/switch-generation.ts';
import { quarantineKey, removeMarker, writeMarker } from './quarantine.ts';
import { submitFrame } from './journal/submit.ts';

/** Session files synced at once (QFS-11). */
const syncsAtOnce = 4;
/** Keys written at once: 64 side by side replace four times as many offset records per second as one after another. */
const keysAtOnce = 16;
/** Writes of one transaction of the state store. */
const rowsMax = 1000;

/**
 * Carries everything up to one instant into session files and state store, then advances the low-water mark (QFS-11). Interrupted anywhere, the
 * frames are still there and it is done again. A key that cannot be written does not hold the mark: its frames are carried along.
 */
export async function checkpoint(engine: Engine): Promise<void> {
  const began = engine.options.clock.monotonic();
  await finishRemovals(engine);
  await submitDuplicates(engine);
  const mark = snapshot(engine);
  const touched = [...engine.table.values()].filter((state) => isDirty(state) || state.isStuck);
  const done = await checkpointKeys(engine, touched);
  await syncFolders(engine, done);
  await engine.indexer.drain();
  await writeRows(engine, done, mark.low);
  await engine.options.state.flush();
  await carryStuck(engine, mark.low);
  await failpoint('checkpoint:before-mark');
  await submitFrame(engine, frameKinds.mark, encodeJson(mark), () => undefined);
  await failpoint('checkpoint:after-mark');
  await engine.journal.advanceMark(mark.low);
  engine.table.evict((key) => engine.locks.locked(key));
  checkpointed.publish(() => ({
    keys: done.length,
    bytes: engine.journal.bytesSinceMark,
    durationMs: engine.options.clock.monotonic() - began,
  }));
}

/** Mark and totals belong together: both as of the last durable frame, in one synchronous step. */
function snapshot(engine: Engine): MarkPayload {
  return {
    low: engine.journal.durableSequence,
    totals: { ...engine.totals },
    active: [...engine.active],
    quarantined: [...engine.quarantined],
    idle: [...engine.idle.keys()],
  };
}

/** Those that were written; what failed is marked as stuck and told by `trouble()`. */
async function checkpointKeys(
  engine: Engine,
  touched: readonly KeyState[],
): Promise<readonly KeyState[]> {
  const done: KeyState[] = [];
  let failure: unknown;
  const syncs = pLimit(syncsAtOnce);
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let state = touched[next++]; state !== undefined; state = touched[next++]) {
      const fault = await checkpointKey(engine, state, syncs);
      if (!state.isStuck) done.push(state);
      failure ??= fault;
    }
  };
  await Promise.all(Array.from({ length: keysAtOnce }, lane));
  engine.checkpointTrouble =
    failure === undefined
      ? undefined
      : {
          error: failure,
          since: engine.checkpointTrouble?.since ?? engine.options.clock.now(),
        };
  return done;
}

/** What went wrong, if anything did. Who is no longer the writer writes no other key either. */
async function checkpointKey(
  engine: Engine,
  state: KeyState,
  syncs: LimitFunction,
): Promise<unknown> {
  try {
    const isDone = await engine.locks.with(
      state.key,
      (guard) => writeFiles(engine, guard, state, syncs),
      undefined,
      'checkpoint',
    );
    state.isStuck = !isDone;
    return undefined;
  } catch (error) {
    if (isMillraceError(error) && error.disposition === 'fenced') throw error;
    state.isStuck = true;
    state.areNamesUncertain = true;
    if (isMillraceError(error) && error.disposition === 'corrupt')
      await quarantineKey(engine, state, error);
    return error;
  }
}

/** False for a key whose damaged offset record is evidence: its frames stay in the journal until an operator decides. */
async function writeFiles(
  engine: Engine,
  guard: KeyGuard,
  state: KeyState,
  syncs: LimitFunction,
): Promise<boolean> {
  if (!state.isOpen) return true;
  if (state.isFinalising) {
    await completeFinalise(engine, guard, state);
    return true;
  }
  if (!state.hasSoundRecord) {
    await writeMarker(engine, state);
    return false;
  }
  const { generation } = engine.options.permit;
  const { version } = state;
  const frame = { tenure: generation, sequence: engine.journal.durableSequence };
  const record = recordOf(state, frame, generation);
  if (!state.hasFolder) await makeFolder(engine, state, guard);
  if (state.areNamesUncertain) await settleFolder(engine, state);
  if (state.isLogSuspect) await rewriteLog(engine, state);
  await engine.filler.fillNow(state, guard);
  await failpoint('checkpoint:before-sync');
  if (record.log_end > record.base) await syncs(() => engine.files.sync(state));
  if (state.quarantine === null && state.hasMarker) await removeMarker(engine, state);
  const deadLines = await writeDeadFile(engine, state);
  await engine.records.write(
    state.key,
    engine.files.folderOf(state.key),
    // Members that a newer version has put there stay (ING-213).
    (current) => ({ ...current, ...record }),
    { held: guard, overDamage: state.isRecordRetold, isSetAnew: state.mayGoBack },
  );
  await writeMarker(engine, state);
  state.newDead.splice(0, deadLines);
  state.isRecordRetold = false;
  state.mayGoBack = false;
  state.syncedTo = record.log_end;
  state.counted = frame;
  state.savedVersion = version;
  if (state.hasOtherGenerations) {
    await failpoint('compaction:recorded');
    await removeOtherGenerations(engine, state);
  }
  return true;
}

/**
 * The files of one key alone, under its guard: its offset record names what the last frame has changed. Its row, and the name of its folder, are left
 * to the next checkpoint: one that took the key for written passed the frames of a session whose folder a power loss then took.
 */
export async function writeKey(engine: Engine, guard: KeyGuard, state: KeyState): Promise<void> {
  try {
    await writeFiles(engine, guard, state, pLimit(1));
    dirty(state);
  } catch (error) {
    state.areNamesUncertain = true;
    throw error;
  }
}

/**
 * Before a new offset record says that a letter or a marker is written: a killed process, or a sync that failed, may have left its name unsynced,
 * and names that a power loss takes or leaves keep no order.
 */
async function settleFolder(engine: Engine, state: KeyState): Promise<void> {
  await engine.options.disk.syncDirectory(engine.files.folderOf(state.key));
  state.areNamesUncertain = false;
}

/** After a failed sync no later one is proof: the bytes behind the last good one are written anew, from the journal (QFS-11). */
async function rewriteLog(engine: Engine, state: KeyState): Promise<void> {
  const lines = await linesInJournal(engine, state, state.syncedTo);
  await engine.files.replaceLog(
    state,
    lines.map(({ bytes }) => bytes),
  );
  const last = lines.at(-1);
  state.filledTo = last === undefined ? state.syncedTo : last.offset + last.bytes.length;
  state.isLogSuspect = false;
}

/** The names of new session folders, each shared folder once (ING-126). */
async function syncFolders(engine: Engine, done: readonly KeyState[]): Promise<void> {
  const fresh = done.filter(({ isFolderSynced, hasFolder }) => hasFolder && !isFolderSynced);
  const folders = new Set(fresh.flatMap(({ key }) => engine.files.foldersAbove(key)));
  for (const folder of folders) await engine.options.disk.syncDirectory(folder);
  for (const state of fresh) state.isFolderSynced = true;
}

/** Key rows, and how far the index has read: both are behind the frames that the mark is about to pass, and no further (D27, ING-513). */
async function writeRows(
  engine: Engine,
  done: readonly KeyState[],
  through: number,
): Promise<void> {
  const rows = done.filter(({ isOpen }) => isOpen).flatMap(rowsOf);
  const writes: readonly StateWrite[] = [...rows, { table: 'checkpoint', through }];
  for (let at = 0; at < writes.length; at += rowsMax)
    await engine.options.state.write(engine.options.permit, writes.slice(at, at + rowsMax));
}

/** One frame with all that stuck keys still need, durable before the mark may pass it. */
async function carryStuck(engine: Engine, low: number): Promise<void> {
  const stuck = [...engine.table.values()].filter(({ isStuck }) => isStuck);
  engine.copiedBytes = stuck.length === 0 ? 0 : await copyFrames(engine, stuck, low);
}
