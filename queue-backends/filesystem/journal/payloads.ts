import type { AppliedMark, ClearMode } from '#queue';
import type { Cursor, Key } from '#record';
import type { KeyTotals } from '#state';
import type { FrameKind } from './frame.ts';
import type { PoisonedSegment } from './segment-shelf.ts';

/** What the frames carry (QFS-01). JSON, so that a person can read a journal with a hex viewer; the lines of an APPEND and the payloads in a COPY are raw. */

/** The first append of an epoch carries what the epoch starts from (ING-125, D27). */
export interface EpochOpening {
  readonly workspace: string;
  readonly session: string;
  readonly owner: string | null;
  readonly cursor: Cursor | null;
  readonly totals: KeyTotals;
  readonly applied: AppliedMark | null;
  /** The key was never seen before. */
  readonly isNew: boolean;
}

export interface AppendKey {
  readonly k: Key;
  readonly e: string;
  readonly o: number;
  readonly open?: EpochOpening | undefined;
  /** Who owns the key from this frame on, where nobody did before (ING-915). */
  readonly own?: string | undefined;
  /** Duplicates answered since the key's last frame (ING-717). */
  readonly dup?: number | undefined;
}

/** One record: index of its key, logical offset, bytes of the stored line, and what dedup must know of it. */
export interface AppendRecord {
  readonly k: number;
  readonly at: number;
  readonly len: number;
  readonly id?: string | undefined;
  readonly der?: 1 | undefined;
  /** The dead letter that it settles (ING-515, ING-714): it moves one from dead to pending and does not raise accepted. */
  readonly set?: SettledLetter | undefined;
}

export interface SettledLetter {
  readonly id: string;
  /** Logical offset where the dead record starts, and its event id. */
  readonly at: number;
  readonly eid?: string;
  /** Ordinal of its epoch, where that is not the one of the record. */
  readonly o?: number;
}

export interface AppendMeta {
  readonly keys: readonly AppendKey[];
  /** Empty in a frame that only carries duplicates. */
  readonly records: readonly AppendRecord[];
  /** Accept time, epoch ms. */
  readonly t: number;
}

export interface DeadLine {
  readonly v: 1;
  readonly id: string;
  readonly ts: string;
  readonly epoch: string;
  readonly ordinal: number;
  readonly pos_start: number;
  readonly pos_end: number;
  readonly sha256: string;
  readonly attempts: number;
  readonly error: { readonly code: string; readonly message: string };
  readonly event_id?: string;
  /** Of a passed-over range: how many records it held. A letter without it is one record. */
  readonly records?: number;
  readonly payload?: string;
  readonly payload_b64?: string;
}

export type OutcomeLine =
  | {
      readonly v: 1;
      readonly kind: 'requeued';
      readonly id: string;
      readonly ts: string;
      readonly requeue_pos: string;
      /** Bytes of the new record as it is stored; with the id of the letter it leads the index from the one to the other. */
      readonly requeue_len?: number;
      readonly event_id?: string;
      readonly pos_start?: number;
      /** Of the letter's epoch, where that is not the one in which the outcome came. */
      readonly ordinal?: number;
    }
  | {
      readonly v: 1;
      readonly kind: 'discarded';
      readonly id: string;
      readonly ts: string;
      readonly by: string;
      readonly event_id?: string;
      readonly pos_start?: number;
      readonly ordinal?: number;
    };

export interface CommitPayload {
  readonly k: Key;
  readonly e: string;
  readonly o: number;
  readonly after: number;
  /** Records that the commit passes. */
  readonly n: number;
  /** Number of this write of the offset record (ING-209). */
  readonly seq: number;
  readonly cursor: Cursor;
  readonly applied: AppliedMark | null;
  /** Deltas of the books. */
  readonly delta: {
    readonly applied: number;
    readonly dead: number;
    readonly discarded: number;
    readonly dup: number;
  };
  readonly dead?: readonly (DeadLine | OutcomeLine)[];
}

/** A way out of a quarantine, or what set the position without one: a reset at the start, a replay that was asked for. */
export type PositionMode = ClearMode | 'auto' | 'replay';

/**
 * RESET and QUARANTINE-CLEAR (W8, W9): the key's position, cursor and books as they are from here on, whatever stood before, with the letters
 * that the step makes. The journal tells them as a whole because the offset record on disk may be the damage.
 */
export interface PositionPayload {
  readonly k: Key;
  readonly e: string;
  readonly o: number;
  readonly op: string;
  readonly mode: PositionMode;
  readonly by: string;
  readonly ts: string;
  /** Offset that is committed from here on, with the records before it, the number of this write and the cursor there. */
  readonly after: number;
  readonly records: number;
  readonly seq: number;
  readonly cursor: Cursor | null;
  readonly applied: AppliedMark | null;
  /** Durable end of the log, and the records before it. */
  readonly end: number;
  readonly logRecords: number;
  /** Books of the key from here on; duplicates go on as they were. */
  readonly totals: Omit<KeyTotals, 'duplicates'>;
  /** What the books of the root gain. */
  readonly delta: {
    readonly applied: number;
    readonly dead: number;
    readonly discarded?: number;
  };
  readonly dead?: readonly DeadLine[];
  /** The step has more frames: the key is still in quarantine. */
  readonly more?: true;
}

export interface QuarantinePayload {
  readonly k: Key;
  readonly code: string;
  readonly message: string;
  readonly since: string;
}

/** A switch to the next log generation (W4), or back to the one before when the new one cannot be read (W5). Position and cursor stay. */
export interface GenerationPayload {
  readonly k: Key;
  readonly e: string;
  readonly o: number;
  readonly gen: number;
  /** Logical offset at which the generation begins. */
  readonly base: number;
  readonly seq: number;
  readonly undo?: 1;
}

/** A cursor that was rebuilt from the graph (W12). */
export interface SeedPayload {
  readonly k: Key;
  readonly e: string;
  readonly o: number;
  readonly seq: number;
  readonly cursor: Cursor;
}

/** The epoch has ended at this offset, all of it committed (W10). */
export interface FinalisePayload {
  readonly k: Key;
  readonly e: string;
  readonly o: number;
  readonly at: number;
  readonly seq: number;
  /** Duplicates answered since the key's last frame (ING-717). */
  readonly dup?: number;
}

/** The key is gone: no frame before this one is needed, and whatever its folder and rows still hold goes. A later APPEND begins a new life. */
export interface RemovalPayload {
  readonly k: Key;
  /** Its books, which leave those of the root: the root counts what its keys count. */
  readonly totals: KeyTotals;
}

export interface RootTotals extends KeyTotals {
  readonly keys: number;
}

/** The checkpoint's low-water mark: every frame up to `low` is in the session files and the state store. */
export interface MarkPayload {
  readonly low: number;
  readonly totals: RootTotals;
  /** Keys with a backlog at the mark: what a start must wake without looking at every folder. */
  readonly active: readonly Key[];
  readonly quarantined: readonly Key[];
  /** Drained keys whose log waits to be compacted; absent in marks of the first versions. */
  readonly idle?: readonly Key[];
}

/** One frame that a COPY carries on; those of an APPEND hold the records of the copied keys only. */
export interface CopiedFrame {
  readonly sequence: number;
  readonly tenure: number;
  readonly kind: FrameKind;
  readonly payload: Uint8Array;
}

/** Frames of keys that a checkpoint could not write (QFS-11); they keep the sequence that orders them. */
export interface CopyMeta {
  readonly keys: readonly Key[];
  readonly frames: readonly {
    readonly s: number;
    readonly t: number;
    readonly k: FrameKind;
    readonly len: number;
  }[];
}

export interface TenurePayload {
  readonly generation: number;
  readonly rootId: string;
}

export interface EncodedPayload {
  readonly payloadBytes: number;
  write(buffer: Buffer, at: number): undefined;
}

export function encodeJson(value: unknown): EncodedPayload {
  const bytes = Buffer.from(JSON.stringify(value), 'utf8');
  return {
    payloadBytes: bytes.length,
    write(buffer, at) {
      bytes.copy(buffer, at);
    },
  };
}

export function decodeJson<T>(payload: Uint8Array): T {
  return JSON.parse(
    Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString('utf8'),
  ) as T;
}

export function encodeAbandon(poisoned: readonly PoisonedSegment[]): EncodedPayload {
  return encodeJson({ segments: poisoned });
}

export function decodeAbandon(payload: Uint8Array): readonly PoisonedSegment[] {
  return decodeJson<{ segments: readonly PoisonedSegment[] }>(payload).segments;
}

/** An APPEND or COPY payload is: length of the meta (4 bytes), meta as JSON, and what it describes one after another. */
export const appendMetaOffset = 4;

function encodeWithMeta(meta: unknown, parts: readonly Uint8Array[]): EncodedPayload {
  const head = Buffer.from(JSON.stringify(meta), 'utf8');
  const payloadBytes = parts.reduce(
    (sum, part) => sum + part.length,
    appendMetaOffset + head.length,
  );
  return {
    payloadBytes,
    write(buffer, at) {
      buffer.writeUInt32LE(head.length, at);
      let end = at + appendMetaOffset + head.copy(buffer, at + appendMetaOffset);
      for (const part of parts) {
        buffer.set(part, end);
        end += part.length;
      }
    },
  };
}

/**
 * What `JSON.stringify` makes of it, byte for byte. Nearly all keys of it are open and nearly all records plain, and their text is put together from its parts: 0.5 µs
 * for one of each, where a walk of the encoder over the objects takes 2.
 */
export function appendMetaText({ keys, records, t }: AppendMeta): string {
  let text = '{"keys":[';
  let comma = '';
  for (const key of keys) {
    text += comma + textOfKey(key);
    comma = ',';
  }
  text += '],"records":[';
  comma = '';
  for (const record of records) {
    text += comma + textOfRecord(record);
    comma = ',';
  }
  return `${text}],"t":${t}}`;
}

function textOfKey(key: AppendKey): string {
  if (key.open !== undefined || key.own !== undefined || key.dup !== undefined)
    return JSON.stringify(key);
  return `{"k":${JSON.stringify(key.k)},"e":${JSON.stringify(key.e)},"o":${key.o}}`;
}

function textOfRecord(record: AppendRecord): string {
  if (record.set !== undefined) return JSON.stringify(record);
  const id = record.id === undefined ? '' : `,"id":${JSON.stringify(record.id)}`;
  const derived = record.der === undefined ? '' : ',"der":1';
  return `{"k":${record.k},"at":${record.at},"len":${record.len}${id}${derived}}`;
}

/** With lines that are in their stored form already. */
export function encodeAppend(meta: AppendMeta, lines: readonly Uint8Array[]): EncodedPayload {
  return encodeWithMeta(meta, lines);
}

export function encodeCopy(keys: readonly Key[], frames: readonly CopiedFrame[]): EncodedPayload {
  const meta: CopyMeta = {
    keys,
    frames: frames.map(({ sequence, tenure, kind, payload }) => ({
      s: sequence,
      t: tenure,
      k: kind,
      len: payload.length,
    })),
  };
  return encodeWithMeta(
    meta,
    frames.map(({ payload }) => payload),
  );
}

export function decodeCopy(payload: Uint8Array): {
  readonly keys: readonly Key[];
  readonly frames: readonly CopiedFrame[];
} {
  const { meta, rest } = splitMeta<CopyMeta>(payload);
  let at = 0;
  const frames = meta.frames.map(({ s, t, k, len }) => {
    at += len;
    return { sequence: s, tenure: t, kind: k, payload: rest.subarray(at - len, at) };
  });
  return { keys: meta.keys, frames };
}

function splitMeta<T>(payload: Uint8Array): { readonly meta: T; readonly rest: Buffer } {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const end = appendMetaOffset + bytes.readUInt32LE(0);
  return {
    meta: JSON.parse(bytes.toString('utf8', appendMetaOffset, end)) as T,
    rest: bytes.subarray(end),
  };
}

export function decodeAppend(payload: Uint8Array): {
  readonly meta: AppendMeta;
  readonly lines: Uint8Array;
} {
  const { meta, rest } = splitMeta<AppendMeta>(payload);
  return { meta, lines: rest };
}
