import { failpoint } from '#disk';
import { type KeyGuard, recordCorrupt } from '#queue';
import type { Key } from '#record';
import { keyFinalised } from '#signals';
import type { StateWrite } from '#state';
import { settleDuplicates } from '../append/duplicates.ts';
import { type Engine, forgetKey } from '../engine.ts';
import { keepCopy } from '../evidence.ts';
import { frameKinds } from '../journal/frame.ts';
import { type FinalisePayload, encodeJson } from '../journal/payloads.ts';
import { submitFrame } from '../journal/submit.ts';
import { rowsOf } from '../session/key-row.ts';
import { type KeyState, dirty, isDrained } from '../session/key-state.ts';
import { loadState } from '../session/load-key.ts';
import { recordOf } from '../session/record-of.ts';
import { removeMarker } from '../quarantine.ts';
import { asRetry, stopOnDamage } from '../with-state.ts';
import { assertWriter } from '../writer.ts';
import { archiveLog } from './archive-log.ts';
import { keepDigests, keepDigestsAhead } from './keep-digests.ts';
import { retireLetters } from './retire-letters.ts';

/**
 * Ends the epoch of a drained key (ING-802), under one hold of its lock: F0 the key's row, F1 the frame, F2 letters, F3 logs, F4 the offset
 * record. An append waits for the lock and begins the next epoch; one that came before shows in the re-check (ING-803).
 */
export async function finalise(
  engine: Engine,
  key: Key,
): Promise<'done' | 'late-lines' | 'refused'> {
  assertWriter(engine);
  await keepDigestsAhead(engine, key);
  return engine.locks.with(
    key,
    (guard) => asRetry(key, () => finaliseUnderGuard(engine, guard)),
    undefined,
    'finalise',
  );
}

async function finaliseUnderGuard(
  engine: Engine,
  guard: KeyGuard,
): Promise<'done' | 'late-lines' | 'refused'> {
  const state = await loadState(engine, guard);
  if (state?.isOpen !== true) return 'done';
  while (state.commitInFlight !== undefined) await state.commitInFlight;
  assertWriter(engine);
  if (state.quarantine !== null) return 'refused';
  if (!state.isFinalising) {
    if (!isDrained(state)) return 'late-lines';
    await stopOnDamage(engine, state, () => keepRow(engine, state));
    await archiveLog(engine, guard, state, state.end);
    await failpoint('finalise:row-kept');
    await submitFinalise(engine, state);
    await failpoint('finalise:marked');
    await removeFiles(engine, guard, state);
  } else await completeFinalise(engine, guard, state);
  return 'done';
}

/** F0: from here on the row can stand for the key (ING-206, ING-610). A row of a later epoch is never written over by an interrupted start. */
async function keepRow(engine: Engine, state: KeyState): Promise<void> {
  const { permit, state: store } = engine.options;
  const { key, ordinal, epoch } = state;
  await keepDigests(engine, state, state.end);
  const known = store.getRow(key);
  const isOlder = known !== undefined && known.ordinal > ordinal;
  state.indexedThrough = state.end;
  const ended: StateWrite = { table: 'epoch', key, ordinal, epoch };
  await store.write(permit, isOlder ? [ended] : [...rowsOf(state), ended]);
  await store.flush();
}

/** F1 */
async function submitFinalise(engine: Engine, state: KeyState): Promise<void> {
  const { pendingDuplicates } = state;
  const payload: FinalisePayload = {
    k: state.key,
    e: state.epoch,
    o: state.ordinal,
    at: state.end,
    seq: state.seq + 1,
    ...(pendingDuplicates === 0 ? {} : { dup: pendingDuplicates }),
  };
  state.pendingDuplicates = 0;
  await submitFrame(
    engine,
    frameKinds.finalise,
    encodeJson(payload),
    () => {
      takeFinalise(state, payload);
      settleDuplicates(engine, state, pendingDuplicates, true);
    },
    () => settleDuplicates(engine, state, pendingDuplicates, false),
  );
}

/** What a durable FINALISE changes; recovery does the same. */
export function takeFinalise(state: KeyState, { seq }: FinalisePayload): void {
  state.isFinalising = true;
  state.seq = seq;
  dirty(state);
}

/** What an earlier finalise has left to do, from wherever it stopped: before the next append, checkpoint or start does anything else. */
export async function completeFinalise(
  engine: Engine,
  guard: KeyGuard,
  state: KeyState,
): Promise<void> {
  const { files } = engine;
  const { key } = state;
  // The frame is durable, and so was the row: written again, it is the same, or made good where the state store was restored to an older day.
  try {
    await keepRow(engine, state);
  } catch (error) {
    if (!recordCorrupt.is(error)) throw error;
    // All of it was applied, and the index knew it: damage of a log that goes stops nobody, and is kept.
    await keepCopy(engine.options, files.logPath(key, state.gen), 'corrupt', error.message);
    state.digestedThrough = state.end;
    await keepRow(engine, state);
  }
  await removeFiles(engine, guard, state);
}

/**
 * F2 to F4; each step may be repeated. The record goes last: one without a log means finalised, a log without one would mean replay from zero
 * (ING-804).
 */
async function removeFiles(engine: Engine, guard: KeyGuard, state: KeyState): Promise<void> {
  const { key } = state;
  const { files, records, options } = engine;
  const folder = files.folderOf(key);
  const generations = await files.otherGenerations(key, undefined);
  // A start that tells an epoch from its frames alone does not look whether a folder was begun: a record would bring the key back.
  const hasFiles = state.hasFolder || generations.length > 0;
  // Letters first: the record says that every frame up to it is in the files, and those of the letters are such.
  await retireLetters(engine, state);
  await failpoint('finalise:letters-retired');
  if (hasFiles) {
    await markRecord(engine, guard, state);
    await failpoint('finalise:recorded');
    await files.remove(generations.filter(({ kind }) => kind === 'log'));
    await options.disk.syncDirectory(folder);
    await failpoint('finalise:logs-removed');
    await records.remove(key, folder, { held: guard });
    await failpoint('finalise:record-removed');
    await files.remove(generations.filter(({ kind }) => kind === 'description'));
  }
  if (state.quarantine !== null) await removeMarker(engine, state);
  forgetKey(engine, state);
  keyFinalised.publish(() => ({ key, ordinal: state.ordinal }));
}

/** Session files must say by themselves that the log goes: without it, its absence would be damage. */
async function markRecord(engine: Engine, guard: KeyGuard, state: KeyState): Promise<void> {
  const { generation } = engine.options.permit;
  const frame = { tenure: generation, sequence: engine.journal.durableSequence };
  await engine.records.write(
    state.key,
    engine.files.folderOf(state.key),
    (current) => ({ ...current, ...recordOf(state, frame, generation) }),
    // The frame says all that is needed of a record that cannot be read; it is kept as evidence.
    { held: guard, overDamage: true },
  );
}
