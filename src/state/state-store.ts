import type { FencePermit } from '#fence';
import type { Cursor, Key, Position } from '#record';

/** What became of the record that carried an event id (ING-515). `live`: accepted or applied. */
export type DedupStatus = 'live' | 'dead' | 'discarded';

/** An index entry over the log, which is the truth (ING-513, ING-516). */
export interface DedupEntry {
  readonly ordinal: number;
  /** Logical offset where the record starts. */
  readonly offset: number;
  /** Bytes of the stored line, newline included. */
  readonly length: number;
  readonly status: DedupStatus;
  readonly isDerivedId: boolean;
  /** SHA-256 of the content (ING-517), filled before the bytes leave the log. */
  readonly contentSha256?: string;
}

/** The key's row that outlives its log (D27, ING-610). */
export interface KeyRow {
  readonly ordinal: number;
  readonly epoch: string;
  readonly position: Position;
  /** Position and SHA-256 of the last applied record, null while none was (ING-541): a dead letter moves `position` alone. */
  readonly appliedPosition: Position | null;
  readonly sha256: string | null;
  readonly cursor: Cursor;
  readonly totals: KeyTotals;
  readonly workspace: string;
  readonly session: string;
  readonly owner: string | null;
}

/** Conservation counters of one key over all its epochs (ING-717): accepted = applied + pending + dead + discarded. */
export interface KeyTotals {
  readonly accepted: number;
  readonly applied: number;
  readonly dead: number;
  readonly discarded: number;
  readonly duplicates: number;
}

/** A place in the logs of one key: number of the epoch, logical offset. */
export interface LogPlace {
  readonly ordinal: number;
  readonly offset: number;
}

export type WhichIds = { readonly before: LogPlace } | { readonly from: LogPlace };

/** How far the dedup index has read a key's log. */
export interface DedupProgress {
  readonly epoch: string;
  readonly indexedThrough: number;
}

export type StateWrite =
  | {
      readonly table: 'dedup';
      readonly key: Key;
      readonly eventId: string;
      /** `hashOfId` of the id, for who has it already. */
      readonly hash?: string;
      readonly entry: DedupEntry | null;
    }
  | { readonly table: 'progress'; readonly key: Key; readonly progress: DedupProgress | null }
  | { readonly table: 'row'; readonly key: Key; readonly row: KeyRow | null }
  | {
      readonly table: 'epoch';
      readonly key: Key;
      readonly ordinal: number;
      /** Id of an epoch that has ended; null takes it away. */
      readonly epoch: string | null;
    }
  | {
      readonly table: 'checkpoint';
      /** Every frame of the journal up to this sequence is in the store. */
      readonly through: number;
    };

/**
 * The local state beside the logs: dedup index and key rows. Everything in it can be caught up from the journal's frames, so a write that a
 * power loss undoes is repeated at the next start; `flush` is what a checkpoint waits for before the frames may go.
 */
export interface StateStore {
  /** Synchronous: part of the one step under the guards (ING-520). */
  getDedup(key: Key, eventId: string): DedupEntry | undefined;
  getProgress(key: Key): DedupProgress | undefined;
  getRow(key: Key): KeyRow | undefined;
  /** Id of an epoch that has ended: entries of the index name it by its ordinal alone. */
  getEpoch(key: Key, ordinal: number): string | undefined;
  /**
   * Sequence of the last frame that a checkpoint has carried into the store; 0 of a new store, undefined of one that was written before there was such
   * a member. Below the journal's mark it says that this is an older copy, or a new store in the place of a lost one.
   */
  checkpointedThrough(): number | undefined;
  /** Keys that have a row, in key order, after `after`. */
  rowKeys(page: { readonly after: Key | undefined; readonly limit: number }): readonly Key[];
  /** Applies all writes in one transaction, in order; visible when it resolves. Refuses a permit below the store's mark (FENCE_STALE). */
  write(permit: FencePermit, writes: readonly StateWrite[]): Promise<void>;
  /**
   * Takes ids of a key out of the index, in transactions of bounded size: those of live records before a place in its log (ING-542), or all from
   * a place on, where the log itself was lost. Returns how many. Interrupted, it is called again.
   */
  forgetIds(permit: FencePermit, key: Key, which: WhichIds): Promise<number>;
  /** Resolves when all earlier writes are on disk. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
