import { join } from 'node:path';
import { assert } from '#base';
import { atomicReplace } from '#disk';
import type { KeyGuard } from '#queue';
import type { Key } from '#record';
import { evidenceKept, recovered } from '#signals';
import { noteLetter } from './commit.ts';
import type { Engine } from './engine.ts';
import { type Frame, frameKinds, readFrame } from './frame.ts';
import { type KeyState, newKeyState, positionOf } from './key-state.ts';
import {
  type AppendKey,
  type CommitPayload,
  type QuarantinePayload,
  decodeAppend,
  decodeJson,
} from './payloads.ts';
import { quarantineKey } from './quarantine.ts';
import type { FramePlace, Scan } from './recovery-scan.ts';
import { addToTail } from './session-files.ts';
import { loadState } from './state-table.ts';

/** A key's tail is written to its file when it is this large: recovery's memory does not follow the journal's size. */
const recoveryTailBytesMax = 1024 * 1024;

/**
 * Brings the keys up to the journal (QFS-20): every frame after the mark, in order. Files that a crash left behind are cut where the frames
 * begin and written anew, so an interrupted recovery is simply done again (QFS-21).
 */
export async function applyJournal(engine: Engine, scan: Scan): Promise<void> {
  const began = engine.options.clock.monotonic();
  Object.assign(engine.totals, scan.mark?.totals);
  for (const key of scan.mark?.quarantined ?? []) engine.quarantined.add(key);
  await keepEvidence(engine, scan);
  const cut = new Set<Key>();
  let bytes: { readonly name: string; readonly content: Buffer } | undefined;
  let frames = 0;
  for (const place of scan.places) {
    if (place.sequence <= scan.low) continue;
    if (bytes?.name !== place.segment)
      bytes = { name: place.segment, content: await readSegment(engine, place.segment) };
    const frame = frameAt(bytes.content, place);
    await applyFrame(engine, frame, cut);
    frames++;
  }
  await quarantineHoles(engine, scan);
  await wakeActive(engine, scan);
  recovered.publish(() => ({
    frames,
    keys: cut.size,
    tornBytes: scan.torn === undefined ? 0 : scan.torn.to - scan.torn.from,
    damagedRanges: scan.damaged.length,
    durationMs: engine.options.clock.monotonic() - began,
  }));
}

function journalPath(engine: Engine, name: string): string {
  return join(engine.options.directory, 'journal', name);
}

async function readSegment(engine: Engine, name: string): Promise<Buffer> {
  return Buffer.from((await engine.options.disk.readFile(journalPath(engine, name))) ?? []);
}

function frameAt(content: Buffer, place: FramePlace): Frame {
  const frame = readFrame(content, place.at, place.salt);
  assert(frame !== undefined, `frame ${place.sequence} was sound a moment ago`);
  return frame;
}

async function applyFrame(engine: Engine, frame: Frame, cut: Set<Key>): Promise<void> {
  switch (frame.kind) {
    case frameKinds.append:
      await applyAppend(engine, frame, cut);
      return;
    case frameKinds.commit: {
      const payload = decodeJson<CommitPayload>(frame.payload);
      await engine.locks.with(payload.k, (guard) =>
        applyCommitFrame(engine, guard, payload, frame.sequence),
      );
      return;
    }
    case frameKinds.quarantine: {
      const { k, code, message, since } = decodeJson<QuarantinePayload>(frame.payload);
      engine.quarantined.add(k);
      const state = await engine.locks.with(k, (guard) => loadState(engine, guard));
      if (state !== undefined) state.quarantine = { code, message, since };
      return;
    }
    default:
      // Marks, tenures and abandons were taken into account by the scan; other kinds have no writer yet.
      return;
  }
}

async function applyAppend(engine: Engine, frame: Frame, cut: Set<Key>): Promise<void> {
  const { meta, lines } = decodeAppend(frame.payload);
  const states: KeyState[] = [];
  for (const key of meta.keys)
    states.push(await engine.locks.with(key.k, (guard) => stateFor(engine, guard, key)));
  let at = 0;
  for (const record of meta.records) {
    const state = states[record.k];
    assert(state !== undefined, 'an append frame names the key of each record');
    const bytes = Buffer.from(lines.subarray(at, at + record.len));
    at += record.len;
    if (!cut.has(state.key)) await cutLog(engine, state, record.at);
    cut.add(state.key);
    if (record.at > state.end) {
      await quarantineKey(engine, state, {
        code: 'RECORD_CORRUPT',
        message: `records of ${state.key} between ${state.end} and ${record.at} are missing from the journal`,
      });
    }
    addToTail(state, { offset: record.at, bytes });
    const isRequeue = record.new === 0;
    if (isRequeue) engine.totals.dead--;
    else engine.totals.accepted++;
    if (frame.sequence > state.checkpointedFrame) {
      state.end = record.at + record.len;
      state.endRecords++;
      state.nextOffset = state.end;
      if (isRequeue) state.totals.dead--;
      else state.totals.accepted++;
      state.oldestMs ??= meta.t;
      state.lastFrame = frame.sequence;
      if (record.set !== undefined)
        state.newDead.push({
          v: 1,
          kind: 'requeued',
          id: record.set,
          ts: new Date(meta.t).toISOString(),
          requeue_pos: positionOf(state, record.at),
        });
    }
    if (record.id !== undefined)
      engine.indexer.add(state, record.id, {
        ordinal: state.ordinal,
        offset: record.at,
        length: record.len,
        status: 'live',
        isDerivedId: record.der === 1,
      });
    if (state.tailBytes > recoveryTailBytesMax)
      await engine.locks.with(state.key, (guard) => engine.filler.fillNow(state, guard));
  }
  for (const [index, key] of meta.keys.entries())
    countDuplicates(engine, states[index], key, frame.sequence);
}

function countDuplicates(
  engine: Engine,
  state: KeyState | undefined,
  key: AppendKey,
  sequence: number,
): void {
  engine.totals.duplicates += key.dup ?? 0;
  if (state !== undefined && sequence > state.checkpointedFrame)
    state.totals.duplicates += key.dup ?? 0;
}

/** The state that an append goes on from. An epoch that opens in the journal is rebuilt from its frames alone: its folder may be half made (C1). */
async function stateFor(engine: Engine, guard: KeyGuard, key: AppendKey): Promise<KeyState> {
  if (key.open === undefined) {
    const known = await loadState(engine, guard);
    if (known !== undefined) return known;
  }
  const inMemory = engine.table.get(key.k);
  if (inMemory !== undefined && inMemory.epoch === key.e) return inMemory;
  const state = newKeyState(key.k, key.e, key.o);
  const open = key.open;
  if (open !== undefined) {
    state.workspace = open.workspace;
    state.session = open.session;
    state.owner = open.owner;
    state.cursor = open.cursor;
    state.baseCursor = open.cursor;
    state.cursorText = JSON.stringify(open.cursor);
    state.applied = open.applied;
    Object.assign(state.totals, open.totals);
    if (open.isNew) engine.totals.keys++;
  }
  state.isOpen = true;
  engine.table.put(state);
  return state;
}

/** Bytes from the first frame after the mark on are the journal's to write: a length is no proof of bytes (QFS-20). */
async function cutLog(engine: Engine, state: KeyState, offset: number): Promise<void> {
  const path = engine.files.logPath(state.key, state.gen);
  const stat = await engine.options.disk.stat(path);
  const size = stat?.size ?? 0;
  if (stat !== undefined && state.base + size > offset) await engine.files.truncate(state, offset);
  state.filledTo = offset;
}

async function applyCommitFrame(
  engine: Engine,
  guard: KeyGuard,
  payload: CommitPayload,
  sequence: number,
): Promise<void> {
  const { totals } = engine;
  totals.applied += payload.delta.applied;
  totals.dead += payload.delta.dead;
  totals.discarded += payload.delta.discarded;
  totals.duplicates += payload.delta.dup;
  const state = await loadState(engine, guard);
  if (state === undefined || state.epoch !== payload.e || sequence <= state.checkpointedFrame)
    return;
  state.committed = payload.after;
  state.committedRecords += payload.n;
  state.seq = payload.seq;
  state.cursor = payload.cursor;
  state.cursorText = JSON.stringify(payload.cursor);
  state.applied = payload.applied;
  state.lastFrame = sequence;
  state.totals.applied += payload.delta.applied;
  state.totals.dead += payload.delta.dead;
  state.totals.discarded += payload.delta.discarded;
  state.totals.duplicates += payload.delta.dup;
  if (state.committed === state.end) state.oldestMs = null;
  for (const line of payload.dead ?? []) {
    state.newDead.push(line);
    noteLetter(engine, state, line);
  }
}

/** A key whose frames fell into a damaged range shows it by a hole in its offsets; one that the range names is stopped at once (QFS-06). */
async function quarantineHoles(engine: Engine, scan: Scan): Promise<void> {
  for (const range of scan.damaged) {
    const content = await readSegment(engine, range.segment);
    const text = content.toString('latin1', range.from, range.to);
    const named = new Set(
      [...text.matchAll(/"k":"([A-Za-z0-9_%~-]{3,200})"/g)].map((match) => match[1] as Key),
    );
    for (const key of named) {
      const state = await engine.locks.with(key, (guard) => loadState(engine, guard));
      if (state === undefined) continue;
      await quarantineKey(engine, state, {
        code: 'RECORD_CORRUPT',
        message: `journal frames ${range.firstSequence} to ${range.lastSequence} are damaged and name ${key}`,
      });
    }
  }
}

/** Damaged and torn bytes are kept beside the journal before anything of them can be written over (P7). */
async function keepEvidence(engine: Engine, scan: Scan): Promise<void> {
  const ranges = [
    ...scan.damaged.map((range) => ({ ...range, kind: 'corrupt' })),
    ...(scan.torn === undefined ? [] : [{ ...scan.torn, kind: 'torn' }]),
  ];
  for (const { segment, from, to, kind } of ranges) {
    const content = (await readSegment(engine, segment)).subarray(from, to);
    const used = content.subarray(0, usedBytes(content));
    const path = journalPath(engine, `${segment}.${from}.${kind}.bin`);
    if ((await engine.options.disk.stat(path)) !== undefined) continue;
    await atomicReplace(engine.options.disk, path, used, engine.options.names);
    evidenceKept.publish(() => ({
      path,
      reason:
        kind === 'torn'
          ? 'the last group of the journal is torn; its requests may have been acknowledged'
          : 'a range of the journal is damaged',
    }));
  }
}

/** Without the zeros at the end of a preallocated segment. */
function usedBytes(content: Uint8Array): number {
  let end = content.length;
  while (end > 0 && content[end - 1] === 0) end--;
  return end;
}

/** Keys with a backlog: those of the mark and those of the frames; the sums are taken anew from their states. */
async function wakeActive(engine: Engine, scan: Scan): Promise<void> {
  for (const key of scan.mark?.active ?? [])
    await engine.locks.with(key, (guard) => loadState(engine, guard));
  engine.active.clear();
  engine.backlogBytes = 0;
  for (const state of engine.table.values()) {
    const backlog = state.end - state.committed;
    engine.backlogBytes += backlog;
    if (backlog > 0 && state.quarantine === null) engine.active.add(state.key);
    if (state.quarantine !== null) engine.quarantined.add(state.key);
    if (state.filledTo < state.end) engine.filler.want(state);
  }
}
