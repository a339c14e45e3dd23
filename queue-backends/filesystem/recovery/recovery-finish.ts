import { join } from 'node:path';
import { isStaleStaging, parseStagingName } from '#disk';
import { recordCorrupt } from '#queue';
import type { Key } from '#record';
import { evidenceKept } from '#signals';
import type { KeyTotals } from '#state';
import { type Engine, noteBacklog } from '../engine.ts';
import { keepCopy } from '../evidence.ts';
import { type KeyState, dirty, pendingRecords } from '../session/key-state.ts';
import { loadDead } from '../session/dead-ahead.ts';
import { liveLetterRecords } from '../session/dead-file.ts';
import { loadState, orStop, settleLog } from '../session/load-key.ts';
import { countLines, soundEnd } from '../session/read-lines.ts';
import { dropTail } from '../session/tail.ts';
import { stopKey } from '../repair/set-back.ts';
import type { Replay } from './replay.ts';
import { allRows, keysOnDisk } from '../all-keys.ts';
import { completeFinalise } from '../lifecycle/finalise.ts';

/** The last steps of recovery, key by key: files as long as their journal says, books that add up, a list of who must drain. */
export async function finishKeys(replay: Replay, wake: readonly Key[]): Promise<void> {
  const { engine } = replay;
  for (const key of wake) await engine.locks.with(key, (guard) => loadState(engine, guard));
  // A frame that is damaged may be in the books of its session all the same, and then the root's lack it: they are summed up anew (P4).
  const isInDoubt =
    replay.scan.damaged.length > 0 ||
    [...engine.table.values()].some((state) => knowsMore(replay, state));
  if (!replay.isRebuilt && isInDoubt) {
    replay.isRebuilt = true;
    await rebuildFromFolders(engine);
  }
  for (const state of engine.table.values()) {
    if (replay.met.has(state.key)) await reclaimStaging(engine, state);
    if (state.isFinalising) {
      await engine.locks.with(state.key, (guard) => completeFinalise(engine, guard, state));
      continue;
    }
    if (replay.retold.has(state.key)) takeAsRetold(state);
    if (state.hasSoundRecord) await settleEnd(replay, state);
    if (isRecounted(replay, state) && state.fault === undefined)
      await orStop(engine, state, () => recount(replay, state));
    if (state.fault !== undefined) await stopOrSetBack(replay, state, state.fault);
    state.fault = undefined;
    if (replay.met.has(state.key)) state.hasOtherGenerations = true;
  }
  engine.active.clear();
  engine.backlogBytes = 0;
  for (const state of engine.table.values()) {
    noteBacklog(engine, state, 0);
    if (state.filledTo < state.end) engine.filler.want(state);
  }
  if (replay.isRebuilt) sumTotals(engine);
}

/** Whose books a lost frame may have left wanting; with damage in the journal that may be any session that its frames name. */
function isRecounted({ recount: keys, met, scan }: Replay, { key }: KeyState): boolean {
  return keys.has(key) || (scan.damaged.length > 0 && met.has(key));
}

async function stopOrSetBack(
  replay: Replay,
  state: KeyState,
  fault: NonNullable<KeyState['fault']>,
): Promise<void> {
  await stopKey(replay.engine, state, fault);
  state.fault = undefined;
  if (state.quarantine === null) await settleEnd(replay, state);
}

/** A frame told what the damaged offset record said: the file is kept as evidence, and the next checkpoint writes a new one (C9). */
function takeAsRetold(state: KeyState): void {
  if (state.hasSoundRecord || state.fault === undefined) return;
  state.hasSoundRecord = true;
  state.isRecordRetold = true;
  state.fault = undefined;
  dirty(state);
}

/** The log ends where the journal says; without a word of it, where its sound lines end. */
async function settleEnd(replay: Replay, state: KeyState): Promise<void> {
  const { engine, toldFrom } = replay;
  const told = toldFrom.get(state.key);
  if (state.hasFolder) await settleLog(engine, state, told ?? state.end);
  else await loadDead(engine, state);
  if (told === undefined) return;
  await keepBeyond(engine, state);
  const fileEnd = await engine.files.logEnd(state);
  if (fileEnd <= state.end) return;
  const path = engine.files.logPath(state.key, state.gen);
  const reason = 'a session log is longer than its journal: its end may have been acknowledged';
  await keepCopy(engine.options, path, 'torn', reason, state.end - state.base);
  await engine.files.truncate(state, state.end);
  dirty(state);
}

/** The key's record holds what no frame here tells: an older copy of the journal was put back, and the root's totals are as old (QFS-13). */
function knowsMore({ scan }: Replay, { counted, hasSoundRecord }: KeyState): boolean {
  return hasSoundRecord && counted.sequence > 0 && !scan.knows(counted.tenure, counted.sequence);
}

/** What was checkpointed behind the last line that the journal tells lies in the file alone: it is read there, whole or not at all. */
async function keepBeyond(engine: Engine, state: KeyState): Promise<void> {
  const last = state.tail.at(-1);
  const toldTo = last === undefined ? state.filledTo : last.offset + last.bytes.length;
  if (toldTo >= state.end || state.fault !== undefined || state.quarantine !== null) return;
  await engine.locks.with(state.key, (guard) => engine.filler.fillNow(state, guard));
  await orStop(engine, state, async () => {
    const found = await soundEnd(engine.files, state, toldTo, state.end);
    if (found.end < state.end) {
      const reason = 'the log ends before its checkpointed end, and the journal is an older one';
      throw recordCorrupt({ key: state.key, place: `${found.end} of ${state.end}`, reason });
    }
    // What is in memory is read before the file is: with lines behind it there, it must go.
    dropTail(state);
    state.filledTo = state.end;
    dirty(state);
  });
}

/**
 * Counts what waits in the log itself, for a key of which a COMMIT was lost by damage or whose offset record was: its books would never come to
 * rest otherwise. What is missing in them is a dead letter where the file has more of them than the books, else it was applied, since a later commit has
 * passed it.
 */
async function recount(replay: Replay, state: KeyState): Promise<void> {
  const { engine } = replay;
  await engine.locks.with(state.key, (guard) => engine.filler.fillNow(state, guard));
  const waiting = await countLines(engine.files, state, state.committed, state.end);
  const passed = state.ranges.filter(({ start }) => start >= state.committed);
  const inRanges = passed.reduce((sum, { records }) => sum + records, 0);
  state.committedRecords = state.endRecords - waiting.records - inRanges;
  const { accepted, applied, dead, discarded } = state.totals;
  const missing = accepted - applied - dead - discarded - pendingRecords(state);
  const letters = await liveLetterRecords(engine, state.key, state);
  // A letter whose own frame is lost may be in the file, or have been discarded by a later one.
  const lostDead = dead < 0 ? -dead : Math.min(Math.max(0, letters - dead), Math.max(0, missing));
  state.totals.applied += missing - lostDead;
  state.totals.dead += lostDead;
  if (!replay.retold.has(state.key)) {
    engine.totals.applied += missing - lostDead;
    engine.totals.dead += lostDead;
  }
  dirty(state);
}

/** Staging files that an earlier process left in a folder that it was writing (ING-232). Others are in no folder that the journal names. */
async function reclaimStaging(engine: Engine, state: KeyState): Promise<void> {
  await reclaimIn(engine, engine.files.folderOf(state.key));
}

export async function reclaimIn(engine: Pick<Engine, 'options'>, folder: string): Promise<void> {
  const { disk, names } = engine.options;
  for (const { name } of await disk.readDirectory(folder)) {
    const path = join(folder, name);
    const staging = parseStagingName(path);
    if (staging === undefined || !isStaleStaging(staging, names.writer)) continue;
    await disk.unlink(path);
    const reason = `reclaimed: process ${staging.pid} ended while it wrote ${staging.target}`;
    evidenceKept.publish(() => ({ path, reason }));
  }
}

/**
 * Loads every key there is: only when the journal is gone, and with it the mark that names the keys with a backlog (QFS-13). Work and memory
 * follow the number of keys ever known.
 */
export async function rebuildFromFolders(engine: Engine): Promise<void> {
  for (const key of await keysOnDisk(engine))
    await engine.locks.with(key, (guard) => loadState(engine, guard));
}

function sumTotals(engine: Engine): void {
  const { totals } = engine;
  Object.assign(totals, { accepted: 0, applied: 0, dead: 0, discarded: 0, duplicates: 0, keys: 0 });
  const add = (one: KeyTotals): void => {
    totals.keys += 1;
    totals.accepted += one.accepted;
    totals.applied += one.applied;
    totals.dead += one.dead;
    totals.discarded += one.discarded;
    totals.duplicates += one.duplicates;
  };
  for (const state of engine.table.values()) add(state.totals);
  // Those whose epoch is over have no folder that would tell.
  for (const { key, row } of allRows(engine))
    if (engine.table.get(key) === undefined) add(row.totals);
}
