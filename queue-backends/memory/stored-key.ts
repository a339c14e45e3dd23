import type { AppliedMark, DeadLetterRecord } from '#queue';
import { formatPosition, type Cursor, type Key, type Position } from '#record';
import type { DedupStatus, KeyTotals } from '#state';

export interface StoredRecord {
  /** Bytes since the epoch began; a record takes its own bytes and one for its line break. */
  readonly offset: number;
  readonly end: number;
  readonly raw: Uint8Array;
  /** Accept time, epoch ms. */
  readonly acceptedMs: number;
  readonly eventId: string | undefined;
}

export interface StoredId {
  readonly offset: number;
  readonly status: DedupStatus;
  readonly isDerived: boolean;
  /** What a second record of this id is compared with (ING-517). */
  readonly content: Uint8Array;
}

export interface StoredLetter {
  readonly letter: DeadLetterRecord;
  readonly offset: number;
}

/** All that is durable of one key. It changes by frames that became durable, and by nothing else. */
export interface StoredKey {
  readonly key: Key;
  readonly workspace: string;
  readonly session: string;
  owner: string | null;
  readonly epoch: string;
  readonly records: StoredRecord[];
  readonly ids: Map<string, StoredId>;
  /** By letter id, oldest first. */
  readonly letters: Map<string, StoredLetter>;
  /** Number of records that are committed. */
  committedCount: number;
  /** The committed cursor as JSON, as a disk would hold it; null before the first commit. */
  cursorText: string | null;
  applied: AppliedMark | null;
  totals: KeyTotals;
  quarantine: { readonly code: string; readonly message: string; readonly since: string } | null;
}

export const ordinal = 0;

export function positionAt(epoch: string, offset: number): Position {
  return formatPosition({ ordinal, epoch, offset });
}

export function endOf(stored: StoredKey): number {
  return stored.records.at(-1)?.end ?? 0;
}

export function committedOffset(stored: StoredKey): number {
  return stored.records[stored.committedCount - 1]?.end ?? 0;
}

export function pendingCount(stored: StoredKey): number {
  return stored.records.length - stored.committedCount;
}

export function backlogBytes(stored: StoredKey): number {
  return endOf(stored) - committedOffset(stored);
}

export function cursorOf(stored: StoredKey): Cursor | null {
  return stored.cursorText === null ? null : (JSON.parse(stored.cursorText) as Cursor);
}

/** `<key>:<epoch>.<start>` */
export function letterIdAt(stored: Pick<StoredKey, 'key' | 'epoch'>, offset: number): string {
  return `${stored.key}:${stored.epoch}.${offset}`;
}
