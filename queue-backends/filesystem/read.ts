import {
  type Batch,
  type BatchItem,
  type KeyGuard,
  offsetMisaligned,
  sessionQuarantined,
} from '#queue';
import type { Key } from '#record';
import type { Engine } from './engine.ts';
import { type KeyState, type TailLine, positionOf } from './session/key-state.ts';
import { readLines, recordIn, type ReadLine } from './session/read-lines.ts';
import { loadState } from './session/load-key.ts';
import { recordOfOwn } from './session/stored-line.ts';
import { asRetry, stopOnDamage } from './with-state.ts';

export interface BatchLimit {
  readonly records: number;
  readonly bytes: number;
}

/** The next records after the committed position (ING-401…404). From memory in one step where the tail has them, else from the log. */
export async function readBatch(engine: Engine, key: Key, max: BatchLimit): Promise<Batch> {
  const known = engine.table.get(key);
  if (known !== undefined && tailCovers(known)) {
    const done = engine.locks.tryAll([key], () => fromTail(known, max));
    if (done !== undefined) return done.value;
  }
  return engine.locks.with(
    key,
    (guard) => asRetry(key, () => readUnderGuard(engine, guard, max)),
    undefined,
    'read',
  );
}

function tailCovers(state: KeyState): boolean {
  if (state.quarantine !== null) return false;
  const first = state.tail[0];
  return state.committed === state.end || (first !== undefined && first.offset <= state.committed);
}

async function readUnderGuard(engine: Engine, guard: KeyGuard, max: BatchLimit): Promise<Batch> {
  const state = await loadState(engine, guard);
  if (state === undefined) return { key: guard.key, start: '' as Batch['start'], items: [] };
  refuseQuarantined(state);
  if (tailCovers(state)) return fromTail(state, max);
  return stopOnDamage(engine, state, () => fromLog(engine, state, max));
}

export function refuseQuarantined(state: KeyState): void {
  if (state.quarantine !== null)
    throw sessionQuarantined({
      keys: [state.key],
      reason: `${state.quarantine.code}: ${state.quarantine.message}`,
    });
}

function batchOf(state: KeyState, lines: readonly ReadLine[]): Batch {
  const items: BatchItem[] = lines.map(({ offset, end, raw }) => ({
    raw,
    at: positionOf(state, offset),
    after: positionOf(state, end),
  }));
  state.boundaries = lines.map(({ end }) => end);
  noteOldest(state, lines[0]);
  return { key: state.key, start: positionOf(state, state.committed), items };
}

/** The accept time of the first record that waits, out of the record itself. */
function noteOldest(state: KeyState, first: ReadLine | undefined): void {
  if (first === undefined) return;
  const at = /"at":"([^"]{20,30})"/.exec(
    Buffer.from(first.raw.buffer, first.raw.byteOffset, Math.min(first.raw.length, 2048)).toString(
      'latin1',
    ),
  );
  const ms = Date.parse(at?.[1] ?? '');
  if (!Number.isNaN(ms)) state.oldestMs = ms;
}

/** Lines up to the limits; always the first one (ING-402). */
class BatchLines {
  readonly lines: ReadLine[] = [];
  readonly #max: BatchLimit;
  #bytes = 0;

  constructor(max: BatchLimit) {
    this.#max = max;
  }

  hasRoomFor(bytes: number): boolean {
    const { records, bytes: bytesMax } = this.#max;
    return (
      this.lines.length === 0 || (this.lines.length < records && this.#bytes + bytes <= bytesMax)
    );
  }

  push(line: ReadLine): void {
    this.lines.push(line);
    this.#bytes += line.end - line.offset;
  }
}

function fromTail(state: KeyState, max: BatchLimit): Batch {
  const batch = new BatchLines(max);
  addTail(state, batch, state.committed);
  return batchOf(state, batch.lines);
}

function addTail(state: KeyState, batch: BatchLines, from: number): void {
  for (const line of state.tail) {
    const { offset, bytes } = line;
    if (offset < from) continue;
    if (!batch.hasRoomFor(bytes.length)) break;
    batch.push({ offset, end: offset + bytes.length, raw: recordOfTail(state, line) });
  }
}

/** A checksum is for bytes that were away: on a disk, or with an earlier process. */
function recordOfTail(state: KeyState, { offset, bytes, isOwn }: TailLine): Uint8Array {
  return isOwn === true ? recordOfOwn(bytes) : recordIn(state, offset, bytes);
}

/** From the session file, and on from memory what it does not hold yet (ING-403). */
async function fromLog(engine: Engine, state: KeyState, max: BatchLimit): Promise<Batch> {
  await checkAlignment(engine, state);
  const batch = new BatchLines(max);
  const to = Math.min(state.filledTo, state.tail[0]?.offset ?? state.filledTo);
  for await (const line of readLines(engine.files, state, state.committed, to)) {
    if (!batch.hasRoomFor(line.end - line.offset)) return batchOf(state, batch.lines);
    batch.push(line);
  }
  addTail(state, batch, to);
  return batchOf(state, batch.lines);
}

/** The byte before a committed offset ends a record (ING-404). */
async function checkAlignment(engine: Engine, state: KeyState): Promise<void> {
  if (state.committed === state.base) return;
  const before = await engine.files.read(state, state.committed - 1, 1);
  if (before[0] !== 0x0a) throw offsetMisaligned({ key: state.key, offset: state.committed });
}

/** The stored record that ends at an offset, wherever it still is. */
export async function readEndingAt(
  engine: Engine,
  state: KeyState,
  end: number,
): Promise<Uint8Array | undefined> {
  const inTail = state.tail.find(({ offset, bytes }) => offset + bytes.length === end);
  if (inTail !== undefined) return recordOfTail(state, inTail);
  if (end <= state.base || end > state.filledTo) return undefined;
  let size = 64 * 1024;
  for (;;) {
    const from = Math.max(state.base, end - size);
    const chunk = await engine.files.read(state, from, end - from);
    if (chunk.length < end - from || chunk.at(-1) !== 0x0a) return undefined;
    const previous = chunk.lastIndexOf(0x0a, chunk.length - 2);
    if (previous >= 0 || from === state.base)
      return recordIn(state, from + previous + 1, chunk.subarray(previous + 1));
    size *= 4;
  }
}

/** The stored record at an offset of known length. */
export async function readAt(
  engine: Engine,
  state: KeyState,
  offset: number,
  length: number,
): Promise<Uint8Array | undefined> {
  const inTail = state.tail.find((line) => line.offset === offset);
  if (inTail !== undefined) return recordOfTail(state, inTail);
  if (offset < state.base || offset + length > state.filledTo) return undefined;
  const line = await engine.files.read(state, offset, length);
  return line.length === length ? recordIn(state, offset, line) : undefined;
}
