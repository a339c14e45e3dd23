import type { AppliedMark } from '#queue';
import type { Cursor, Key } from '#record';
import type { KeyTotals } from '#state';
import type { PoisonedSegment } from './segment-shelf.ts';

/** What the frames carry (QFS-01). JSON, so that a person can read a journal with a hex viewer; only the lines of an APPEND are raw. */

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
  readonly open?: EpochOpening;
  /** Duplicates answered since the key's last frame (ING-717). */
  readonly dup?: number;
}

/** One record: index of its key, logical offset, bytes of the stored line, and what dedup must know of it. */
export interface AppendRecord {
  readonly k: number;
  readonly at: number;
  readonly len: number;
  readonly id?: string;
  readonly der?: 1;
  /** Dead letter that it settles (ING-515, ING-714). */
  readonly set?: string;
  /** A requeue of this program moves dead → pending; a discarded id sent again is accepted as new. */
  readonly new?: 0;
}

export interface AppendMeta {
  readonly keys: readonly AppendKey[];
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
    }
  | {
      readonly v: 1;
      readonly kind: 'discarded';
      readonly id: string;
      readonly ts: string;
      readonly by: string;
      readonly event_id?: string;
      readonly pos_start?: number;
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

export interface QuarantinePayload {
  readonly k: Key;
  readonly code: string;
  readonly message: string;
  readonly since: string;
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
}

export interface TenurePayload {
  readonly generation: number;
  readonly rootId: string;
}

export interface EncodedPayload {
  readonly payloadBytes: number;
  write(buffer: Buffer, at: number): void;
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

/** An APPEND payload is: length of the meta (4 bytes), meta as JSON, stored lines one after another. */
export const appendMetaOffset = 4;

export function decodeAppend(payload: Uint8Array): {
  readonly meta: AppendMeta;
  readonly lines: Uint8Array;
} {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const metaEnd = appendMetaOffset + bytes.readUInt32LE(0);
  return {
    meta: JSON.parse(bytes.toString('utf8', appendMetaOffset, metaEnd)) as AppendMeta,
    lines: bytes.subarray(metaEnd),
  };
}
