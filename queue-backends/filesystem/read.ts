import {
  type Batch,
  type BatchItem,
  type KeyGuard,
  offsetMisaligned,
  recordCorrupt,
  sessionQuarantined,
} from '#queue';
import type { Key } from '#record';
import type { Engine } from './engine.ts';
import { type KeyState, positionOf, readLimit } from './session/key-state.ts';
import { readLines, type ReadLine } from './session/read-lines.ts';
import { recordOfTail } from './session/read-record.ts';
import { loadState } from './session/load-key.ts';
import { passLeadingDead } from './repair/reconcile.ts';
import { asRetry, stopOnDamage } from './with-state.ts';

export interface BatchLimit {
  readonly records: number;
  readonly bytes: number;
}

/**
 * The next records after the committed position (ING-401…404). From memory in one step where the tail has them, else from the log. Dead records
 * that lead are passed first, and nothing is read beyond one that does not yet (ING-702).
 */
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
  if (state.quarantine !== null || state.deadAhead.has(state.committed)) return false;
  const first = state.tail[0];
  return state.committed === state.end || (first !== undefined && first.offset <= state.committed);
}

async function readUnderGuard(engine: Engine, guard: KeyGuard, max: BatchLimit): Promise<Batch> {
  const state = await loadState(engine, guard);
  if (state === undefined) {
    const start = engine.options.state.getRow(guard.key)?.position ?? ('' as Batch['start']);
    return { key: guard.key, start, items: [] };
  }
  refuseQuarantined(state);
  await passLeadingDead(engine, state);
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
  state.isSetAnew = false;
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
  const limit = readLimit(state);
  for (const line of state.tail) {
    const { offset, bytes } = line;
    if (offset < from) continue;
    if (offset >= limit || !batch.hasRoomFor(bytes.length)) break;
    batch.push({ offset, end: offset + bytes.length, raw: recordOfTail(state, line) });
  }
}

/**
 * From the session file, and on from memory what it does not hold yet (ING-403). Sound records before a damaged one are a batch of their own:
 * they are drained before their key stops.
 */
async function fromLog(engine: Engine, state: KeyState, max: BatchLimit): Promise<Batch> {
  await checkAlignment(engine, state);
  const batch = new BatchLines(max);
  const fileEnd = Math.min(state.filledTo, state.tail[0]?.offset ?? state.filledTo);
  const to = Math.min(fileEnd, readLimit(state));
  try {
    for await (const line of readLines(engine.files, state, state.committed, to)) {
      if (!batch.hasRoomFor(line.end - line.offset)) return batchOf(state, batch.lines);
      batch.push(line);
    }
  } catch (error) {
    if (!recordCorrupt.is(error) || batch.lines.length === 0) throw error;
    return batchOf(state, batch.lines);
  }
  if (to === fileEnd) addTail(state, batch, to);
  return batchOf(state, batch.lines);
}

/** The byte before a committed offset ends a record (ING-404). */
async function checkAlignment(engine: Engine, state: KeyState): Promise<void> {
  const { committed, base, ranges } = state;
  if (committed === base || ranges.some(({ end }) => end === committed)) return;
  const before = await engine.files.read(state, state.committed - 1, 1);
  if (before[0] !== 0x0a) throw offsetMisaligned({ key: state.key, offset: state.committed });
}
