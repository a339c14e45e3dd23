import type { MillraceError } from '#base';
import type { AppendInput } from '#queue';
import { type Engine, noteBacklog } from './engine.ts';
import { type FrameKind, frameKinds } from './frame.ts';
import type { JournalEntry } from './journal.ts';
import type { KeyState } from './key-state.ts';
import { type AppendMeta, appendMetaOffset } from './payloads.ts';
import { addToTail } from './session-files.ts';
import { storedBytes, writeStored } from './stored-line.ts';

/** One record that was given its place. */
export interface PlacedRecord {
  readonly state: KeyState;
  readonly input: AppendInput;
  readonly offset: number;
  readonly length: number;
  /** What the books do when it is durable: a requeue moves one from dead to pending, anything else is accepted. */
  readonly isRequeue: boolean;
}

/** The frame of one request: all of its records, or none (QFS-01, ING-113). */
export class AppendFrame implements JournalEntry {
  readonly kind: FrameKind = frameKinds.append;
  readonly recordCount: number;
  readonly payloadBytes: number;
  /** Resolves true when durable, false when it failed: what a request with the same id waits for (ING-520). */
  readonly settled: Promise<boolean>;
  readonly #engine: Engine;
  readonly #placed: readonly PlacedRecord[];
  readonly #meta: Buffer;
  readonly #acceptedMs: number;
  readonly #onDurable: (sequence: number) => void;
  readonly #onFailed: (error: MillraceError) => void;
  #lines: Uint8Array[] = [];
  #settle: (isDurable: boolean) => void = () => undefined;

  constructor(
    engine: Engine,
    placed: readonly PlacedRecord[],
    meta: AppendMeta,
    onDurable: (sequence: number) => void,
    onFailed: (error: MillraceError) => void,
  ) {
    this.#engine = engine;
    this.#placed = placed;
    this.#meta = Buffer.from(JSON.stringify(meta), 'utf8');
    this.#acceptedMs = meta.t;
    this.#onDurable = onDurable;
    this.#onFailed = onFailed;
    this.recordCount = placed.length;
    let bytes = appendMetaOffset + this.#meta.length;
    for (const { length } of placed) bytes += length;
    this.payloadBytes = bytes;
    this.settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  write(buffer: Buffer, at: number): void {
    buffer.writeUInt32LE(this.#meta.length, at);
    let end = at + appendMetaOffset + this.#meta.copy(buffer, at + appendMetaOffset);
    this.#lines = this.#placed.map(({ input }) => {
      const start = end;
      end = writeStored(buffer, start, input.raw);
      return buffer.subarray(start, end);
    });
  }

  durable(sequence: number): void {
    for (const [at, { state, offset, length, input, isRequeue }] of this.#placed.entries()) {
      const before = state.end - state.committed;
      const line = this.#lines[at];
      if (line !== undefined) addToTail(state, { offset, bytes: line });
      state.end = offset + length;
      state.endRecords++;
      state.lastFrame = sequence;
      if (before === 0) state.oldestMs = this.#acceptedMs;
      noteAccepted(this.#engine, state, isRequeue);
      noteBacklog(this.#engine, state, before);
      if (input.eventId !== undefined)
        this.#engine.indexer.add(state, input.eventId, {
          ordinal: state.ordinal,
          offset,
          length,
          status: 'live',
          isDerivedId: input.isDerivedId === true,
        });
    }
    this.#onDurable(sequence);
    this.#settle(true);
  }

  failed(error: MillraceError): void {
    for (const { state, input } of this.#placed) {
      state.nextOffset = state.end;
      if (!state.isOpen) state.isOpening = false;
      if (input.eventId !== undefined && state.recent.get(input.eventId)?.inFlight === this.settled)
        state.recent.delete(input.eventId);
    }
    this.#onFailed(error);
    this.#settle(false);
  }
}

function noteAccepted(engine: Engine, state: KeyState, isRequeue: boolean): void {
  if (isRequeue) {
    state.totals.dead--;
    engine.totals.dead--;
  } else {
    state.totals.accepted++;
    engine.totals.accepted++;
  }
}

export function placedBytes(input: AppendInput): number {
  return storedBytes(input.raw);
}
