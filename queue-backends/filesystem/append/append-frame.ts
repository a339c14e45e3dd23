import { crc32c, crc32cCombine, type MillraceError } from '#base';
import type { AppendInput } from '#queue';
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
  type SettledLetter,
  appendMetaOffset,
  appendMetaText,
} from '../journal/payloads.ts';
import type { DedupEntry } from '#state';
import { requeueLine } from '../session/requeue-line.ts';
import { addToTail } from '../session/tail.ts';
import { writeStored } from '../session/stored-line.ts';

/** One record that was given its place. */
export interface PlacedRecord {
  readonly state: KeyState;
  readonly input: AppendInput;
  readonly offset: number;
  readonly length: number;
  readonly settles: SettledLetter | undefined;
}

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

/** The frame of one request: all of its records, or none (QFS-01, ING-113). Made and submitted in the step that chose the positions. */
export class AppendFrame implements JournalEntry {
  readonly kind: FrameKind = frameKinds.append;
  readonly recordCount: number;
  readonly payloadBytes: number;
  /** What a request with one of its ids waits for (ING-520). */
  readonly settled: Flight;
  /** Set before `settled` resolves false. */
  error: MillraceError | undefined;
  readonly #engine: Engine;
  readonly #placed: readonly PlacedRecord[];
  readonly #parts: readonly KeyPart[];
  readonly #records: readonly AppendRecord[];
  readonly #meta: string;
  readonly #metaBytes: number;
  readonly #acceptedMs: number;
  #lines: Uint8Array[] = [];
  #settle: (isDurable: boolean) => void;

  constructor(
    engine: Engine,
    placed: readonly PlacedRecord[],
    ownersBefore: ReadonlyMap<KeyState, string | null>,
    duplicates: ReadonlyMap<KeyState, number>,
  ) {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.settled = promise;
    this.#settle = resolve;
    this.#engine = engine;
    this.#placed = placed;
    this.#acceptedMs = engine.options.clock.now();
    const keys: AppendKey[] = [];
    const states =
      duplicates.size === 0
        ? [...ownersBefore.keys()]
        : [...new Set([...ownersBefore.keys(), ...duplicates.keys()])];
    this.#parts = states.map((state) => {
      const carried = state.pendingDuplicates;
      const count = carried + (duplicates.get(state) ?? 0);
      const isOpening = !state.isOpen && state.opening === undefined;
      const ownerBefore = ownersBefore.get(state) ?? null;
      const isClaiming = !isOpening && ownersBefore.has(state) && state.owner !== ownerBefore;
      keys.push(keyOf(state, count, { isOpening, isClaiming }));
      return { state, duplicates: count, carried, isOpening, isClaiming, ownerBefore };
    });
    this.#records = recordsOf(placed, states);
    this.#meta = appendMetaText({ keys, records: this.#records, t: this.#acceptedMs });
    this.#metaBytes = Buffer.byteLength(this.#meta);
    let bytes = appendMetaOffset + this.#metaBytes;
    for (const { length } of placed) bytes += length;
    this.payloadBytes = bytes;
    this.recordCount = placed.length;
    this.#reserve();
  }

  #reserve(): void {
    for (const { state, isOpening, isClaiming, duplicates, carried } of this.#parts) {
      if (isOpening) state.opening = this.settled;
      if (isClaiming) state.claiming = this.settled;
      this.#engine.pendingDuplicates += duplicates - carried;
      state.pendingDuplicates = 0;
    }
    for (const placed of this.#placed) {
      const { state, input, settles } = placed;
      if (settles !== undefined) state.settling.set(settles.id, this.settled);
      if (input.eventId !== undefined)
        state.recent.set(input.eventId, { entry: entryOf(placed), inFlight: this.settled });
    }
  }

  write(buffer: Buffer, at: number): number {
    buffer.writeUInt32LE(this.#metaBytes, at);
    let end = at + appendMetaOffset;
    end += buffer.write(this.#meta, end, this.#metaBytes, 'utf8');
    let crc = crc32c(buffer.subarray(at, end));
    const lines: Uint8Array[] = [];
    for (const { input, length } of this.#placed) {
      crc = crc32cCombine(crc, writeStored(buffer, end, input.raw), length);
      lines.push(buffer.subarray(end, end + length));
      end += length;
    }
    this.#lines = lines;
    return crc;
  }

  /** Recovery does the same from the payload. */
  durable(): void {
    const engine = this.#engine;
    for (const { state, isOpening, isClaiming } of this.#parts) {
      if (isClaiming) state.claiming = undefined;
      if (isOpening) settleOpening(engine, state, true);
    }
    for (let index = 0; index < this.#placed.length; index += 1) this.#takeRecord(index);
    for (const { state, duplicates } of this.#parts) {
      settleDuplicates(engine, state, duplicates, true);
      dirty(state);
      engine.filler.want(state);
    }
    this.#settle(true);
  }

  #takeRecord(index: number): void {
    const engine = this.#engine;
    const placed = this.#placed[index];
    const record = this.#records[index];
    const bytes = this.#lines[index];
    if (placed === undefined || record === undefined || bytes === undefined) return;
    const { state, input, offset, length, settles } = placed;
    const before = state.end - state.committed;
    addToTail(state, { offset, bytes, isOwn: true });
    state.end = offset + length;
    state.endRecords += 1;
    if (before === 0) state.oldestMs = this.#acceptedMs;
    for (const totals of [state.totals, engine.totals])
      if (settles === undefined) totals.accepted += 1;
      else totals.dead -= 1;
    noteBacklog(engine, state, before);
    if (input.eventId !== undefined) engine.indexer.add(state, input.eventId, entryOf(placed));
    if (settles === undefined) return;
    state.settling.delete(settles.id);
    takeLetter(engine, state, requeueLine(state, record, this.#acceptedMs));
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
      if (input.eventId !== undefined && state.recent.get(input.eventId)?.inFlight === this.settled)
        state.recent.delete(input.eventId);
    }
    this.error = error;
    this.#settle(false);
  }
}

function entryOf({ state, input, offset, length }: PlacedRecord): DedupEntry {
  const isDerivedId = input.isDerivedId === true;
  return { ordinal: state.ordinal, offset, length, status: 'live', isDerivedId };
}

function recordsOf(placed: readonly PlacedRecord[], states: readonly KeyState[]): AppendRecord[] {
  const [only] = states.length === 1 ? states : [];
  return placed.map(({ state, input, offset, length, settles }) => ({
    k: state === only ? 0 : states.indexOf(state),
    at: offset,
    len: length,
    ...(input.eventId === undefined ? {} : { id: input.eventId }),
    ...(input.isDerivedId === true ? { der: 1 as const } : {}),
    ...(settles === undefined ? {} : { set: settles }),
  }));
}
