import { assert, crc32c, crc32cCombine, type MillraceError } from '#base';
import type { Storable } from './admission.ts';
import { keyOf } from './append-key.ts';
import { settleDuplicates, settleOpening } from './duplicates.ts';
import { type Engine, noteBacklog } from '../engine.ts';
import { type FrameKind, frameKinds } from '../journal/frame.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { type Flight, type KeyState, dirty } from '../session/key-state.ts';
import { takeLetter } from '../session/letters.ts';
import {
  type AppendKey,
  type AppendRecord,
  appendMetaOffset,
  appendMetaText,
} from '../journal/payloads.ts';
import type { DedupEntry } from '#state';
import { requeueLine } from '../session/requeue-line.ts';
import { addToTail } from '../session/tail.ts';
import { writeStored } from '../session/stored-line.ts';

/** A key with records in the frame, and who owned it before them. */
export interface KeyOwner {
  readonly state: KeyState;
  readonly owner: string | null;
}
export type Owners = readonly KeyOwner[];

/** What the frame took in hand of one key, to be given back if it fails. */
interface KeyPart {
  readonly state: KeyState;
  readonly duplicates: number;
  /** Those of `duplicates` that waited before this request. */
  readonly carried: number;
  readonly isOpening: boolean;
  /** The key is open, and this frame gives it its owner. */
  readonly isClaiming: boolean;
  readonly ownerBefore: string | null;
}

/** Told how the frame ended: without an error it is durable. */
type Waiter = (error: MillraceError | undefined) => void;

/** The frame of one request: all of its records, or none (QFS-01, ING-113). Made and submitted in the step that chose the positions. */
export class AppendFrame implements JournalEntry, Flight {
  readonly kind: FrameKind = frameKinds.append;
  readonly recordCount: number;
  readonly payloadBytes: number;
  readonly #engine: Engine;
  readonly #placed: readonly Storable[];
  readonly #parts: readonly KeyPart[];
  readonly #meta: string;
  readonly #metaBytes: number;
  readonly #acceptedMs: number;
  #waiters: Waiter[] = [];
  #hasEnded = false;
  #error: MillraceError | undefined;

  constructor(
    engine: Engine,
    placed: readonly Storable[],
    owners: Owners,
    duplicates: ReadonlyMap<KeyState, number>,
  ) {
    this.#engine = engine;
    this.#placed = placed;
    this.#acceptedMs = engine.options.clock.now();
    this.#parts = partsOf(owners, duplicates);
    this.#meta = metaOf(this.#parts, placed, this.#acceptedMs);
    this.#metaBytes = Buffer.byteLength(this.#meta);
    let bytes = appendMetaOffset + this.#metaBytes;
    for (const { length } of placed) bytes += length;
    this.payloadBytes = bytes;
    this.recordCount = placed.length;
    this.#reserve();
  }

  /** Resolves with `outcomes` once the frame is durable; rejects with why it failed. */
  answer<T>(outcomes: T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#tell((error) => {
        if (error === undefined) resolve(outcomes);
        else reject(error);
      });
    });
  }

  /** What a request with one of its ids waits for (ING-520). */
  get settled(): Promise<boolean> {
    return new Promise((resolve) => {
      this.#tell((error) => resolve(error === undefined));
    });
  }

  #tell(waiter: Waiter): void {
    if (this.#hasEnded) waiter(this.#error);
    else this.#waiters.push(waiter);
  }

  #end(error: MillraceError | undefined): void {
    this.#hasEnded = true;
    this.#error = error;
    for (const waiter of this.#waiters) waiter(error);
    this.#waiters = [];
  }

  #reserve(): void {
    for (const { state, isOpening, isClaiming, duplicates, carried } of this.#parts) {
      if (isOpening) state.opening = this;
      if (isClaiming) state.claiming = this;
      this.#engine.pendingDuplicates += duplicates - carried;
      state.pendingDuplicates = 0;
    }
    for (const record of this.#placed) {
      const { state, input, settles } = record;
      if (settles !== undefined) state.settling.set(settles.id, this);
      if (input.eventId === undefined) continue;
      const entry = entryOf(record);
      record.entry = entry;
      state.recent.set(input.eventId, { entry, inFlight: this });
    }
  }

  write(buffer: Buffer, at: number): number {
    buffer.writeUInt32LE(this.#metaBytes, at);
    let end = at + appendMetaOffset;
    end += buffer.write(this.#meta, end, this.#metaBytes, 'utf8');
    let crc = crc32c(buffer.subarray(at, end));
    for (const record of this.#placed) {
      const { input, length } = record;
      crc = crc32cCombine(crc, writeStored(buffer, end, input.raw), length);
      record.bytes = buffer.subarray(end, end + length);
      end += length;
    }
    return crc;
  }

  /** Recovery does the same from the payload. */
  durable(): void {
    const engine = this.#engine;
    for (const { state, isOpening, isClaiming } of this.#parts) {
      if (isClaiming) state.claiming = undefined;
      if (isOpening) settleOpening(engine, state, true);
    }
    for (const record of this.#placed) this.#takeRecord(record);
    for (const { state, duplicates } of this.#parts) {
      settleDuplicates(engine, state, duplicates, true);
      dirty(state);
      engine.filler.want(state);
    }
    this.#end(undefined);
  }

  #takeRecord(record: Storable): void {
    const engine = this.#engine;
    const { state, input, length, settles, entry } = record;
    const bytes = bytesOf(record);
    const offset = offsetOf(record);
    const before = state.end - state.committed;
    addToTail(state, { offset, bytes, isOwn: true });
    state.end = offset + length;
    state.endRecords += 1;
    if (before === 0) state.oldestMs = this.#acceptedMs;
    noteBacklog(engine, state, before);
    if (input.eventId !== undefined && entry !== undefined)
      engine.indexer.add(state, input.eventId, entry);
    if (settles === undefined) {
      state.totals.accepted += 1;
      engine.totals.accepted += 1;
      return;
    }
    state.totals.dead -= 1;
    engine.totals.dead -= 1;
    state.settling.delete(settles.id);
    takeLetter(engine, state, requeueLine(state, recordOf(record, 0), this.#acceptedMs));
  }

  /** Everything that waits behind it fails with it, so positions go on from the durable end: no hole and no ghost (QFS-03). */
  failed(error: MillraceError): void {
    for (const part of this.#parts) {
      const { state, duplicates, carried, isOpening, isClaiming, ownerBefore } = part;
      state.nextOffset = state.end;
      settleDuplicates(this.#engine, state, carried, false);
      this.#engine.pendingDuplicates -= duplicates - carried;
      if (isOpening) state.opening = undefined;
      if (isClaiming) state.claiming = undefined;
      if (isOpening || isClaiming) state.owner = ownerBefore;
    }
    for (const { state, input, settles } of this.#placed) {
      if (settles !== undefined) state.settling.delete(settles.id);
      if (input.eventId !== undefined && state.recent.get(input.eventId)?.inFlight === this)
        state.recent.delete(input.eventId);
    }
    this.#end(error);
  }
}

/** Keys with records, and those of which duplicates are counted alone. */
function partsOf(owners: Owners, duplicates: ReadonlyMap<KeyState, number>): KeyPart[] {
  const parts: KeyPart[] = [];
  for (const { state, owner } of owners) {
    const count = duplicates.size === 0 ? 0 : (duplicates.get(state) ?? 0);
    parts.push(partOf(state, count, owner, state.owner !== owner));
  }
  if (duplicates.size === 0) return parts;
  const known = new Set(owners.map(({ state }) => state));
  for (const [state, count] of duplicates)
    if (!known.has(state)) parts.push(partOf(state, count, null, false));
  return parts;
}

function partOf(
  state: KeyState,
  count: number,
  ownerBefore: string | null,
  hasNewOwner: boolean,
): KeyPart {
  const carried = state.pendingDuplicates;
  const isOpening = !state.isOpen && state.opening === undefined;
  const isClaiming = !isOpening && hasNewOwner;
  return { state, duplicates: carried + count, carried, isOpening, isClaiming, ownerBefore };
}

function metaOf(parts: readonly KeyPart[], placed: readonly Storable[], t: number): string {
  const keys: AppendKey[] = [];
  for (const part of parts) keys.push(keyOf(part.state, part.duplicates, part));
  const places = placesOf(parts);
  const records: AppendRecord[] = [];
  for (const record of placed) records.push(recordOf(record, places?.get(record.state) ?? 0));
  return appendMetaText({ keys, records, t });
}

/** Undefined for a frame of one key. */
function placesOf(parts: readonly KeyPart[]): ReadonlyMap<KeyState, number> | undefined {
  return parts.length === 1 ? undefined : new Map(parts.map(({ state }, at) => [state, at]));
}

function recordOf(record: Storable, k: number): AppendRecord {
  const { input, length: len, settles: set } = record;
  const der = input.isDerivedId === true ? 1 : undefined;
  return { k, at: offsetOf(record), len, id: input.eventId, der, set };
}

function offsetOf({ state, offset }: Storable): number {
  assert(offset !== undefined, `a record of ${state.key} was given its place`);
  return offset;
}

function bytesOf({ state, bytes }: Storable): Uint8Array {
  assert(bytes !== undefined, `a durable record of ${state.key} was written`);
  return bytes;
}

function entryOf(record: Storable): DedupEntry {
  const { state, input, length } = record;
  const isDerivedId = input.isDerivedId === true;
  return { ordinal: state.ordinal, offset: offsetOf(record), length, status: 'live', isDerivedId };
}
