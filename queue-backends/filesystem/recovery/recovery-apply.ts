import { assert } from '#base';
import { failpoint } from '#disk';
import type { KeyGuard } from '#queue';
import { recovered } from '#signals';
import { parseLine } from '#record';
import type { Engine } from '../engine.ts';
import { type Frame, frameKinds, readFrame } from '../journal/frame.ts';
import { type KeyState, newKeyState } from '../session/key-state.ts';
import { indexLetter, takeLetter } from '../session/letters.ts';
import { corruptOnly, loadState } from '../session/load-key.ts';
import {
  type AppendKey,
  type AppendMeta,
  type AppendRecord,
  type FinalisePayload,
  type QuarantinePayload,
  decodeAppend,
  decodeCopy,
  decodeJson,
} from '../journal/payloads.ts';
import { completeFinalise } from '../lifecycle/finalise.ts';
import { quarantineKey, setQuarantine } from '../quarantine.ts';
import {
  applyCommit,
  applyFinalise,
  applyGeneration,
  applyRemoval,
  applyPosition,
  applySeed,
} from './recovery-changes.ts';
import { keepJournalEvidence, quarantineNamed, readSegment } from './recovery-damage.ts';
import { finishKeys, rebuildFromFolders } from './recovery-finish.ts';
import type { FramePlace, Scan } from './recovery-scan.ts';
import { type Replay, type Replayed, meet, takes, underLock } from './replay.ts';
import { requeueLine } from '../session/requeue-line.ts';
import { addToTail } from '../session/tail.ts';

/** A key's tail is written to its file when it is this large: recovery's memory does not follow the journal's size. */
const recoveryTailBytesMax = 1024 * 1024;

/**
 * Brings the keys up to the journal (QFS-20): every frame after the mark, in order. Session files are written over from where the frames begin,
 * with what they say, so an interrupted recovery is simply done again (QFS-21).
 */
export async function applyJournal(engine: Engine, scan: Scan): Promise<void> {
  const began = engine.options.clock.monotonic();
  const replay: Replay = {
    engine,
    toldFrom: new Map(),
    retold: new Set(),
    recount: new Set(),
    met: new Set(),
    scan,
    isRebuilt: scan.mark === undefined,
    appliedTo: new Map(),
    ended: new Set(),
    frames: 0,
  };
  await keepJournalEvidence(engine, scan);
  if (replay.isRebuilt) await rebuildFromFolders(engine);
  else Object.assign(engine.totals, scan.mark?.totals);
  for (const key of scan.mark?.quarantined ?? []) engine.quarantined.add(key);
  await lookAhead(replay, scan);
  await replayCopies(replay, scan);
  await eachFrame(engine, scan, (frame) => applyFrame(replay, { ...frame, copiedFor: undefined }));
  await failpoint('recovery:applied');
  await quarantineNamed(engine, scan);
  await finishKeys(replay, [...(scan.mark?.active ?? []), ...engine.quarantined]);
  for (const key of scan.mark?.idle ?? [])
    if (engine.table.get(key) === undefined) engine.idle.set(key, engine.options.clock.monotonic());
  engine.isRecovered = true;
  recovered.publish(() => ({
    frames: replay.frames,
    keys: replay.appliedTo.size,
    tornBytes: scan.torn === undefined ? 0 : scan.torn.to - scan.torn.from,
    damagedRanges: scan.damaged.length,
    durationMs: engine.options.clock.monotonic() - began,
  }));
}

async function eachFrame(
  engine: Engine,
  scan: Scan,
  visit: (frame: Frame) => Promise<void>,
): Promise<void> {
  let open: { readonly name: string; readonly content: Buffer } | undefined;
  for (const place of scan.places) {
    if (open?.name !== place.segment)
      open = { name: place.segment, content: await readSegment(engine, place.segment) };
    await visit(frameAt(open.content, place));
  }
}

function frameAt(content: Buffer, place: FramePlace): Frame {
  const frame = readFrame(content, place.at, place.salt);
  assert(frame !== undefined, `frame ${place.sequence} was sound a moment ago`);
  return frame;
}

/** Which epochs end in the frames to come. */
async function lookAhead(replay: Replay, scan: Scan): Promise<void> {
  await eachFrame(replay.engine, scan, async ({ kind, payload }) => {
    if (kind !== frameKinds.finalise) return;
    const { k, e } = decodeJson<FinalisePayload>(payload);
    replay.ended.add(`${k} ${e}`);
  });
}

/** Frames at or below the mark that a checkpoint carried along for keys it could not write, before all others: they are older. */
async function replayCopies(replay: Replay, scan: Scan): Promise<void> {
  const low = scan.mark?.low ?? 0;
  const copied: Replayed[] = [];
  await eachFrame(replay.engine, scan, async (frame) => {
    if (frame.kind !== frameKinds.copy) return;
    const { keys, frames } = decodeCopy(Buffer.from(frame.payload));
    const copiedFor = new Set(keys);
    for (const one of frames) if (one.sequence <= low) copied.push({ ...one, copiedFor });
  });
  copied.sort((a, b) => a.sequence - b.sequence);
  for (const frame of copied) await applyFrame(replay, frame);
}

async function applyFrame(replay: Replay, frame: Replayed): Promise<void> {
  replay.frames += 1;
  await replay.engine.indexer.drainIfCrowded();
  switch (frame.kind) {
    case frameKinds.append:
      await applyAppend(replay, frame);
      return;
    case frameKinds.commit:
      return applyCommit(replay, frame);
    case frameKinds.generation:
      return applyGeneration(replay, frame);
    case frameKinds.seed:
      return applySeed(replay, frame);
    case frameKinds.finalise:
      return applyFinalise(replay, frame);
    case frameKinds.quarantine: {
      const { k, code, message, since } = decodeJson<QuarantinePayload>(frame.payload);
      replay.engine.quarantined.add(k);
      const state = await underLock(replay, k, (guard) => loadState(replay.engine, guard));
      if (state === undefined) return;
      setQuarantine(replay.engine, state, { code, message, since });
      meet(replay, state);
      return;
    }
    case frameKinds.removal:
      return applyRemoval(replay, frame);
    case frameKinds.reset:
    case frameKinds.quarantineClear:
      return applyPosition(replay, frame, frame.kind);
    default:
      // Marks, tenures and abandons were taken into account by the scan, copies before; other kinds have no writer yet.
      return;
  }
}

async function applyAppend(replay: Replay, frame: Replayed): Promise<void> {
  const { engine } = replay;
  const { meta, lines } = decodeAppend(frame.payload);
  if (frame.copiedFor === undefined) countInRoot(engine, meta);
  const states: (KeyState | undefined)[] = [];
  for (const key of meta.keys)
    states.push(await underLock(replay, key.k, (guard) => stateFor(replay, guard, key)));
  const isTaken = states.map((state) => state !== undefined && takes(replay, state, frame));
  let at = 0;
  for (const record of meta.records) {
    assert(record.k < states.length, 'an append frame names the key of each record');
    const state = states[record.k];
    const bytes = Buffer.from(lines.subarray(at, at + record.len));
    at += record.len;
    // The epoch is over, and so is everything that its log was needed for.
    if (state === undefined || state.isFinalising) continue;
    if (state.session === '') nameBy(state, bytes);
    await retell(replay, state, record.at, bytes);
    if (isTaken[record.k] === true) await takeRecord(replay, state, record, meta);
    indexRecord(replay, state, record, meta.t, isTaken[record.k] === true);
  }
  for (const [index, state] of states.entries()) {
    if (state === undefined) continue;
    meet(replay, state);
    if (isTaken[index] !== true) continue;
    state.totals.duplicates += meta.keys[index]?.dup ?? 0;
    state.owner = meta.keys[index]?.own ?? state.owner;
    replay.appliedTo.set(state.key, frame.sequence);
  }
}

function countInRoot(engine: Engine, meta: AppendMeta): void {
  const { totals } = engine;
  for (const { set } of meta.records)
    if (set === undefined) totals.accepted += 1;
    else totals.dead -= 1;
  for (const key of meta.keys) {
    totals.duplicates += key.dup ?? 0;
    if (key.open?.isNew === true) totals.keys += 1;
  }
}

/** The line is in memory again, and the file is written over with it: a length is no proof of bytes (QFS-20). */
async function retell(
  replay: Replay,
  state: KeyState,
  offset: number,
  bytes: Uint8Array,
): Promise<void> {
  const { engine, toldFrom } = replay;
  const last = state.tail.at(-1);
  // A compaction has made the bytes below the base needless, and its record is durable.
  if (offset < state.base || (last !== undefined && offset <= last.offset)) return;
  if (!toldFrom.has(state.key)) {
    toldFrom.set(state.key, offset);
    state.filledTo = Math.min(state.filledTo, offset);
  }
  addToTail(state, { offset, bytes });
  if (state.tailBytes > recoveryTailBytesMax)
    await underLock(replay, state.key, (guard) => engine.filler.fillNow(state, guard));
}

async function takeRecord(
  replay: Replay,
  state: KeyState,
  record: AppendRecord,
  meta: AppendMeta,
): Promise<void> {
  const { engine } = replay;
  if (record.at > state.end && state.hasSoundRecord) {
    const message = `records of ${state.key} between ${state.end} and ${record.at} are missing from the journal`;
    await quarantineKey(engine, state, { code: 'RECORD_CORRUPT', message });
  }
  state.end = Math.max(state.end, record.at + record.len);
  state.endRecords += 1;
  state.nextOffset = state.end;
  state.oldestMs ??= meta.t;
  if (record.set === undefined) state.totals.accepted += 1;
  else state.totals.dead -= 1;
}

/** Ids and letters go into the index again, in order, also when the key's files hold the frame already: the state store may be behind them. */
function indexRecord(
  replay: Replay,
  state: KeyState,
  record: AppendRecord,
  acceptedMs: number,
  isTaken: boolean,
): void {
  const { engine } = replay;
  const { ordinal } = state;
  if (record.id !== undefined) {
    const known = engine.indexer.find(state, record.id);
    const isSame = known?.ordinal === ordinal && known.offset === record.at;
    // The record itself may be compacted away by now: what its id stands for is kept nowhere else.
    const contentSha256 = isSame ? known.contentSha256 : undefined;
    engine.indexer.add(state, record.id, {
      ordinal,
      offset: record.at,
      length: record.len,
      status: 'live',
      isDerivedId: record.der === 1,
      ...(contentSha256 === undefined ? {} : { contentSha256 }),
    });
  }
  if (record.set === undefined) return;
  const line = requeueLine(state, record, acceptedMs);
  if (isTaken) takeLetter(engine, state, line);
  else indexLetter(engine, state, line);
}

/**
 * The state that an append goes on from. An epoch that opens in the journal is rebuilt from its frames alone, unless a checkpoint has come as
 * far as its offset record: its folder may be half made (C1). Undefined for an epoch that ends further on and whose files are gone.
 */
async function stateFor(
  replay: Replay,
  guard: KeyGuard,
  key: AppendKey,
): Promise<KeyState | undefined> {
  const { engine } = replay;
  const inMemory = engine.table.get(key.k);
  if (inMemory?.epoch === key.e) return inMemory;
  // The epoch before has ended, or this one could not have begun.
  if (inMemory?.isFinalising === true) await completeFinalise(engine, guard, inMemory);
  if (key.open === undefined || (await hasCheckpoint(engine, key))) {
    const known = await loadState(engine, guard);
    if (known?.epoch === key.e) return known;
  }
  if (key.open === undefined && replay.ended.has(`${key.k} ${key.e}`)) return undefined;
  const state = openedState(engine, key);
  engine.table.put(state);
  if (key.open === undefined) {
    const message = `the frame that opened epoch ${key.e} of ${key.k} is missing from the journal`;
    await quarantineKey(engine, state, { code: 'RECORD_CORRUPT', message });
  }
  return state;
}

/** Whether the offset record on disk holds more of this epoch than its beginning. A damaged one is told anew. */
async function hasCheckpoint(engine: Engine, key: AppendKey): Promise<boolean> {
  const folder = engine.files.folderOf(key.k);
  try {
    const record = await engine.records.read(key.k, folder);
    return record?.epoch === key.e && record.frame.sequence > 0;
  } catch (error) {
    corruptOnly(error);
    return false;
  }
}

/** Whose frame of its opening is lost has no names, and nobody could ask for it or clear it: each of its records has them. */
function nameBy(state: KeyState, line: Uint8Array): void {
  const { record } = parseLine(line, state.key);
  if (record === undefined) return;
  state.workspace = record.workspace;
  state.session = record.session;
}

function openedState(engine: Engine, key: AppendKey): KeyState {
  const state = newKeyState(key.k, key.e, key.o, engine.table.memory);
  const { open } = key;
  if (open !== undefined) {
    state.workspace = open.workspace;
    state.session = open.session;
    state.owner = open.owner;
    state.cursor = open.cursor;
    state.baseCursor = open.cursor;
    state.cursorText = JSON.stringify(open.cursor);
    state.applied = open.applied;
    state.before = open.applied;
    state.baseTotals = open.totals;
    Object.assign(state.totals, open.totals);
  }
  state.isOpen = true;
  state.areNamesUncertain = true;
  // Nothing of the file is needed, sound or not: the frames hold the epoch whole.
  state.isRecordRetold = true;
  return state;
}
