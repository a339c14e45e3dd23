import { type MillraceError, isMillraceError } from '#base';
import {
  type KeyGuard,
  logGenerationMissing,
  offsetBeyondLog,
  offsetCorrupt,
  recordCorrupt,
} from '#queue';
import { type Key, keyParts, parsePosition } from '#record';
import { evidenceKept } from '#signals';
import type { KeyRow } from '#state';
import { countUncounted, loadDead } from './dead-ahead.ts';
import { readLetterLines } from './dead-file.ts';
import { findGeneration, generationNamedBy, newestGeneration } from './find-generation.ts';
import { type GenerationFile, beforeOf } from './generation-file.ts';
import { appliedOf, takeBooks } from './key-row.ts';
import { type Engine, noteBacklog } from '../engine.ts';
import { keepCopy } from '../evidence.ts';
import { idOf } from './event-id.ts';
import { type KeyState, dirty, newKeyState, zeroTotals } from './key-state.ts';
import { indexLetter } from './letters.ts';
import type { OffsetRecord } from './offset-record.ts';
import { readMarker, setQuarantine } from '../quarantine.ts';
import { survey } from '../repair/examine.ts';
import { stopKey } from '../repair/set-back.ts';
import { removeOtherGenerations } from '../lifecycle/switch-generation.ts';
import { readLines, soundEnd } from './read-lines.ts';
import { noteReadTrouble } from '../trouble.ts';

/**
 * The state of a key, from memory or from its files; undefined for a key that was never seen. Damage puts the key into quarantine and never
 * reaches who asked: an append goes on behind it (ING-411). A disk that cannot be read now throws the platform's error.
 */
export async function loadState(engine: Engine, guard: KeyGuard): Promise<KeyState | undefined> {
  const { key } = guard;
  const known = engine.table.get(key);
  if (known !== undefined) return known;
  const state = await readNoting(engine, key);
  if (state === undefined) return undefined;
  engine.table.put(state);
  noteBacklog(engine, state, 0);
  if (engine.isRecovered) engine.table.evictIfCrowded((other) => engine.locks.locked(other));
  return state;
}

/** A disk that cannot be read now is told in the status, beside the request that met it. */
async function readNoting(engine: Engine, key: Key): Promise<KeyState | undefined> {
  try {
    const state = await readState(engine, key);
    engine.readTrouble = undefined;
    return state;
  } catch (error) {
    noteReadTrouble(engine, error);
    throw error;
  }
}

async function readState(engine: Engine, key: Key): Promise<KeyState | undefined> {
  let fault: MillraceError | undefined;
  let state: KeyState | undefined;
  try {
    const record = await engine.records.read(key, engine.files.folderOf(key));
    if (record === undefined) state = await withoutRecord(engine, key);
    else {
      const generation = await generationNamedBy(engine, key, record);
      state = fromRecord(engine, key, record);
      describe(state, generation);
      fault = firstFault(state, generation);
    }
  } catch (error) {
    fault = corruptOnly(error);
    state = await withoutSoundRecord(engine, key);
  }
  if (state === undefined) return undefined;
  await stopIfMarked(engine, state, fault);
  if (engine.isRecovered) {
    await settleLog(engine, state, state.end);
    await tidyGenerations(engine, state);
  }
  return state;
}

/**
 * The checks and the catching up that need the log itself. Up to `toldFrom` the file must hold what was checkpointed; what lies behind it the
 * journal has told. Recovery does this last, when it knows.
 */
export async function settleLog(engine: Engine, state: KeyState, toldFrom: number): Promise<void> {
  if (state.isFinalising) return;
  if (state.hasSoundRecord) await loadDead(engine, state);
  if (state.quarantine !== null || state.fault !== undefined) {
    if (toldFrom === state.end && state.hasSoundRecord) await keepBehind(engine, state);
    return;
  }
  await orStop(engine, state, async () => {
    const end = await engine.files.logEnd(state);
    const needed = Math.min(state.syncedTo, toldFrom);
    if (end < needed) {
      const reason = 'the log ends before its checkpointed end';
      throw recordCorrupt({ key: state.key, place: `${end} of ${needed}`, reason });
    }
    const isTold = toldFrom < state.end;
    if (!isTold) await adoptTail(engine, state);
    if (!isTold) await countUncounted(engine, state);
    await reindex(engine, state, isTold ? toldFrom : state.end);
  });
}

/** What an interrupted compaction has left: before the key is used first (ING-814). A stopped key keeps all that it has. */
export async function tidyGenerations(engine: Engine, state: KeyState): Promise<void> {
  const isStopped = state.quarantine !== null || state.fault !== undefined;
  if (isStopped || !state.hasFolder || !state.hasSoundRecord || state.isFinalising) return;
  await removeOtherGenerations(engine, state);
}

/** Damage is a value here; everything else goes on as an error. */
export function corruptOnly(error: unknown): MillraceError {
  if (isMillraceError(error) && error.disposition === 'corrupt') return error;
  throw error;
}

/** Damage that is met on the way stops the key, and nothing else. */
export async function orStop(
  engine: Engine,
  state: KeyState,
  act: (engine: Engine, state: KeyState) => Promise<void>,
): Promise<void> {
  try {
    await act(engine, state);
  } catch (error) {
    await stopIfMarked(engine, state, corruptOnly(error));
  }
}

/** What the marker says, else the damage just found. Told and marked once: by the first reader that works under the key's lock. */
async function stopIfMarked(
  engine: Engine,
  state: KeyState,
  fault: MillraceError | undefined,
): Promise<void> {
  const marked = await readMarker(engine, state.key);
  state.hasMarker = marked !== null;
  if (marked !== null) setQuarantine(engine, state, marked);
  else if (fault !== undefined && !engine.isRecovered) state.fault ??= fault;
  else if (fault !== undefined) await stopKey(engine, state, fault);
}

/** What the generation file says of the beginning of the log. */
function describe(state: KeyState, generation: GenerationFile | undefined): void {
  state.baseCursor = generation?.cursor ?? null;
  state.before = generation === undefined ? null : beforeOf(generation);
}

function fromRecord(engine: Engine, key: Key, record: OffsetRecord): KeyState {
  const state = newKeyState(key, record.epoch, record.ordinal, engine.table.memory);
  state.workspace = record.workspace;
  state.session = record.session_id;
  state.owner = record.owner;
  state.gen = record.gen;
  state.base = record.base;
  state.committed = record.offset;
  state.committedRecords = record.committed_records;
  setEnd(state, record.log_end, record.log_records);
  state.syncedTo = record.log_end;
  state.isOpen = true;
  state.hasFolder = true;
  state.isFolderSynced = engine.isRecovered;
  state.areNamesUncertain = !engine.isRecovered;
  state.cursor = record.cursor;
  state.cursorText = JSON.stringify(record.cursor);
  state.seq = record.seq;
  state.applied = record.applied;
  state.counted = record.frame;
  state.lastClear = record.last_clear ?? null;
  Object.assign(state.totals, record.totals);
  state.baseTotals = record.totals;
  if (record.state === 'finalizing') {
    state.isFinalising = true;
    // The index knew all of the log before it was allowed to go.
    state.digestedThrough = record.log_end;
  }
  return state;
}

function setEnd(state: KeyState, end: number, records: number): void {
  state.end = end;
  state.endRecords = records;
  state.nextOffset = end;
  state.filledTo = end;
}

/** The checks of ING-404 that need no look at the log. */
function firstFault(
  { key, gen, committed: offset, end }: KeyState,
  generation: GenerationFile | undefined,
): MillraceError | undefined {
  if (offset > end) return offsetBeyondLog({ key, offset, end });
  return generation === undefined ? logGenerationMissing({ key, generation: gen }) : undefined;
}

/**
 * No offset record: a key that was never seen, or one whose record is gone beside a log; then the generation file says where the log begins
 * (ING-823). A lone generation file is the half of a folder that never came to be (C1).
 */
async function withoutRecord(engine: Engine, key: Key): Promise<KeyState | undefined> {
  const generation = await findGeneration(engine, key);
  if (generation === undefined) return undefined;
  const state = newKeyState(key, generation.epoch, generation.ordinal, engine.table.memory);
  state.gen = generation.gen;
  state.base = generation.base;
  state.workspace = generation.workspace;
  state.session = generation.session_id;
  state.isOpen = true;
  state.hasFolder = true;
  describe(state, generation);
  state.cursor = generation.cursor;
  state.cursorText = JSON.stringify(generation.cursor);
  if ((await engine.files.logEnd(state)) === state.base) return undefined;
  if (state.gen > 0)
    throw offsetCorrupt({ key, reason: `it is missing beside generation ${state.gen} of the log` });
  const row = engine.options.state.getRow(key);
  // A checkpoint writes the record before the row, and an end takes the log before the record: read from zero, the session would lose its books in silence.
  if (row?.epoch === state.epoch)
    throw offsetCorrupt({ key, reason: 'it is missing beside a log that was checkpointed' });
  if (row !== undefined && row.ordinal < state.ordinal) takeBooks(state, row);
  return state;
}

/**
 * What can still be said of a key whose offset record is damaged: enough to take new events behind the log that is there (ING-411). Its
 * books are those of the key's row, which the same checkpoint wrote.
 */
async function withoutSoundRecord(engine: Engine, key: Key): Promise<KeyState> {
  const generation = await findGeneration(engine, key);
  const row = engine.options.state.getRow(key);
  const names = generation ?? namesOf(key, row);
  const epoch = generation?.epoch ?? row?.epoch ?? engine.options.chance.uuid();
  const ordinal = generation?.ordinal ?? row?.ordinal ?? 0;
  const state = newKeyState(key, epoch, ordinal, engine.table.memory);
  describe(state, generation);
  await placeLog(engine, state, generation, row);
  state.workspace = names.workspace;
  state.session = names.session_id;
  state.owner = row?.owner ?? null;
  state.isOpen = true;
  state.hasFolder = true;
  state.hasSoundRecord = false;
  Object.assign(state.totals, row?.totals ?? zeroTotals);
  const { accepted, applied, dead, discarded } = state.totals;
  setEnd(state, await engine.files.logEnd(state), accepted - applied - dead - discarded);
  state.syncedTo = state.end;
  state.floor = engine.isRecovered ? engine.journal.durableSequence : engine.journal.mark;
  if (row !== undefined && row.epoch === epoch) takeRow(state, row);
  return state;
}

/**
 * Where the log lies. Of a later generation that nobody describes it is not known where it begins, only that it is not behind the row's position: no
 * way out applies then (only its files from a backup), and no position is given twice.
 */
async function placeLog(
  engine: Engine,
  state: KeyState,
  generation: GenerationFile | undefined,
  row: KeyRow | undefined,
): Promise<void> {
  state.gen = generation?.gen ?? (await newestGeneration(engine, state.key));
  const isOfRow = row !== undefined && row.epoch === state.epoch;
  const lowest = state.gen > 0 && isOfRow ? (parsePosition(row.position)?.offset ?? 0) : 0;
  state.base = generation?.base ?? lowest;
}

function takeRow(state: KeyState, row: KeyRow): void {
  const offset = parsePosition(row.position)?.offset ?? 0;
  state.committed = Math.max(state.base, Math.min(offset, state.end));
  state.cursor = row.cursor;
  state.cursorText = JSON.stringify(row.cursor);
  state.applied = appliedOf(row);
}

function namesOf(
  key: Key,
  row: KeyRow | undefined,
): { readonly workspace: string; readonly session_id: string } {
  const parts = row ?? keyParts(key);
  return { workspace: parts?.workspace ?? '', session_id: parts?.session ?? '' };
}

/**
 * Lines behind the checkpointed end that no frame speaks of: the journal was lost, or left out of a backup (QFS-13). Whole lines with a good
 * crc stay and count as accepted; what fails at the end is kept and cut (QFS-20).
 */
async function adoptTail(engine: Engine, state: KeyState): Promise<void> {
  const fileEnd = await engine.files.logEnd(state);
  if (fileEnd === state.end) return;
  const found = await soundEnd(engine.files, state, state.end, fileEnd);
  if (found.end < fileEnd) {
    const path = engine.files.logPath(state.key, state.gen);
    const reason =
      'the end of a session log is torn; its records were not acknowledged for certain';
    await keepCopy(engine.options, path, 'torn', reason, found.end - state.base);
    await engine.files.truncate(state, found.end);
  }
  setEnd(state, found.end, state.endRecords + found.records);
  for (const totals of [state.totals, engine.totals]) totals.accepted += found.records;
  await loadDead(engine, state);
  dirty(state);
}

/** What lies behind the checkpointed end of a stopped key, that no frame speaks of: nothing is cut there, and no position is given twice. */
async function keepBehind(engine: Engine, state: KeyState): Promise<void> {
  const fileEnd = await engine.files.logEnd(state);
  if (fileEnd <= state.end) return;
  const { sound } = await survey(engine, state, new Set(), state.end, fileEnd);
  setEnd(state, fileEnd, state.endRecords + sound);
  for (const totals of [state.totals, engine.totals]) totals.accepted += sound;
  dirty(state);
}

/** Ids of a log that the index has not read: after a loss of the state store, or of its last moments (ING-513). */
async function reindex(engine: Engine, state: KeyState, to: number): Promise<void> {
  const progress = engine.options.state.getProgress(state.key);
  const isOfEpoch = progress?.epoch === state.epoch;
  const known = Math.max(state.base, isOfEpoch ? progress.indexedThrough : 0);
  if (known > state.end) await forgetLost(engine, state);
  const from = Math.min(known, state.end);
  state.indexedThrough = Math.max(state.indexedThrough, from, to);
  if (from >= to) return;
  for await (const { offset, end, raw } of readLines(engine.files, state, from, to)) {
    const found = idOf(raw);
    if (found === undefined) continue;
    const { ordinal } = state;
    const { id, isDerived: isDerivedId } = found;
    engine.indexer.add(state, id, {
      ordinal,
      offset,
      length: end - offset,
      status: 'live',
      isDerivedId,
    });
    await engine.indexer.drainIfCrowded();
  }
  for (const line of await readLetterLines(engine, state)) indexLetter(engine, state, line);
  dirty(state);
}

/**
 * The index has read on where the log ends: an older queue beside a newer state, or a journal that was lost. Ids of records that are not there any
 * more would refuse the same events for ever, and later ones in their places would be taken for them.
 */
async function forgetLost(engine: Engine, state: KeyState): Promise<void> {
  const { key, ordinal, end: offset } = state;
  const { state: store, permit } = engine.options;
  const count = await store.forgetIds(permit, key, { from: { ordinal, offset } });
  state.indexedThrough = offset;
  dirty(state);
  const reason = `${count} event ids were forgotten: their records are missing from the log`;
  evidenceKept.publish(() => ({ path: engine.files.folderOf(key), reason }));
}
