import { checkpointed } from '#signals';
import { type KeyGuard } from '#queue';
import { type Key, emptyCursor } from '#record';
import type { KeyRow } from '#state';
import { writeDeadFile } from './dead-file.ts';
import type { Engine } from './engine.ts';
import { frameKinds } from './frame.ts';
import { type KeyState, positionOf } from './key-state.ts';
import type { OffsetRecord } from './offset-record.ts';
import { encodeJson, type MarkPayload } from './payloads.ts';
import { submitFrame } from './submit.ts';

/** Session files synced at once (QFS-11). */
const keysAtOnce = 4;

/** The state of a key at one instant, as its files will have it. */
export function recordOf(state: KeyState, tenure: number): OffsetRecord {
  return {
    v: 2,
    min_reader: 2,
    workspace: state.workspace,
    session_id: state.session,
    owner: state.owner,
    epoch: state.epoch,
    ordinal: state.ordinal,
    gen: state.gen,
    base: state.base,
    offset: state.committed,
    log_end: state.end,
    log_records: state.endRecords,
    committed_records: state.committedRecords,
    applied: state.applied,
    state: 'open',
    totals: { ...state.totals },
    seq: state.seq,
    frame: state.lastFrame,
    tenure,
    cursor: state.cursor,
  };
}

/** Makes the session folder: generation file, offset record, and only then a log may follow (ING-125). */
export async function makeFolder(engine: Engine, state: KeyState, guard: KeyGuard): Promise<void> {
  await engine.files.makeFolder(state);
  const opening: OffsetRecord = {
    ...recordOf(state, engine.options.permit.generation),
    offset: state.base,
    log_end: state.base,
    log_records: 0,
    committed_records: 0,
    totals: { accepted: 0, applied: 0, dead: 0, discarded: 0, duplicates: 0 },
    seq: 0,
    frame: 0,
    cursor: state.baseCursor,
  };
  await engine.records.write(guard, engine.files.folderOf(state.key), opening);
}

/**
 * Carries everything up to one instant into session files and state store, then advances the low-water mark (QFS-11). Interrupted anywhere, the
 * frames are still there and it is done again.
 */
export async function checkpoint(engine: Engine): Promise<void> {
  const began = engine.options.clock.monotonic();
  const mark = snapshot(engine);
  const touched = [...engine.table.values()].filter(
    (state) =>
      state.lastFrame > state.checkpointedFrame ||
      state.newDead.length > 0 ||
      state.pendingDuplicates > 0,
  );
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let state = touched[next++]; state !== undefined; state = touched[next++])
      await checkpointKey(engine, state.key);
  };
  await Promise.all(Array.from({ length: keysAtOnce }, lane));
  await engine.indexer.drain();
  await engine.options.state.flush();
  await submitFrame(engine, frameKinds.mark, encodeJson(mark), () => undefined);
  await engine.journal.advanceMark(mark.low);
  engine.table.evict();
  checkpointed.publish(() => ({
    keys: touched.length,
    bytes: engine.journal.bytesSinceMark,
    durationMs: engine.options.clock.monotonic() - began,
  }));
}

/** Mark and totals belong together: both as of the last durable frame, in one synchronous step. */
function snapshot(engine: Engine): MarkPayload {
  return {
    low: engine.journal.durableSequence,
    totals: { ...engine.totals, duplicates: engine.totals.duplicates - engine.duplicatesInFlight },
    active: [...engine.active],
    quarantined: [...engine.quarantined],
  };
}

async function checkpointKey(engine: Engine, key: Key): Promise<void> {
  await engine.locks.with(
    key,
    async (guard) => {
      const state = engine.table.get(key);
      if (state === undefined) return;
      const record = recordOf(state, engine.options.permit.generation);
      state.pendingDuplicates = 0;
      if (!state.hasFolder && state.end > state.base) await makeFolder(engine, state, guard);
      await engine.filler.fillNow(state, guard);
      if (state.hasFolder) await writeFiles(engine, guard, state, record);
      await engine.options.state.write(engine.options.permit, [
        { table: 'row', key, row: rowOf(state) },
      ]);
      state.checkpointedFrame = record.frame;
    },
    undefined,
    'checkpoint',
  );
}

async function writeFiles(
  engine: Engine,
  guard: KeyGuard,
  state: KeyState,
  record: OffsetRecord,
): Promise<void> {
  if (record.log_end > record.base) await engine.files.sync(state);
  const deadLines = await writeDeadFile(engine, state);
  // A damaged offset record is evidence: the key's row carries its books until an operator decides.
  if (state.quarantine === null)
    await engine.records.write(guard, engine.files.folderOf(state.key), record);
  if (!state.isFolderSynced) {
    await engine.files.syncFolder(state.key);
    state.isFolderSynced = true;
  } else if (deadLines > 0)
    await engine.options.disk.syncDirectory(engine.files.folderOf(state.key));
  state.newDead.splice(0, deadLines);
}

/** The key's row that outlives its log (D27). */
function rowOf(state: KeyState): KeyRow | null {
  if (
    state.cursor === null &&
    state.seq === 0 &&
    state.quarantine === null &&
    state.ordinal === 0 &&
    state.end === 0
  )
    return null;
  return {
    ordinal: state.ordinal,
    epoch: state.epoch,
    position: positionOf(state, state.committed),
    sha256: state.applied?.sha256 ?? null,
    cursor: state.cursor ?? emptyCursor(),
    totals: { ...state.totals },
    workspace: state.workspace,
    session: state.session,
    owner: state.owner,
  };
}
