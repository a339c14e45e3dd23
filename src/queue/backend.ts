import type { Cursor, Key, Position } from '#record';
import type { KeyTotals } from '#state';

/** One record of a request. `raw` is one JSON object in UTF-8, without a line break (RECORD_FRAMING). */
export interface AppendInput {
  readonly key: Key;
  readonly workspace: string;
  readonly session: string;
  readonly raw: Uint8Array;
  readonly eventId?: string;
  /** The id was made by a format (D21): equal ids are duplicates whatever their content (ING-517). */
  readonly isDerivedId?: boolean;
  /** Who sends it; the first that is not anonymous owns the session (ING-915, `ownerAfter`). */
  readonly principal: string;
  /** The principal may write into sessions of others (scope `ops:write`). */
  readonly mayWriteForeign?: boolean;
  /** The dead letter whose payload this is; the record and the outcome of the letter are one durable step (ING-714). */
  readonly settles?: string;
}

/** What became of one record of a request, in the order of the request. `position` is where the record, or the first of its id, starts. */
export type AppendOutcome =
  | { readonly status: 'queued'; readonly epoch: string; readonly position: Position }
  | { readonly status: 'duplicate'; readonly epoch: string; readonly position: Position }
  | { readonly status: 'conflict'; readonly position: Position; readonly storedSha256: string }
  | { readonly status: 'foreign'; readonly owner: string }
  /** Storable, but left out because another record of an atomic request was not. */
  | { readonly status: 'refused' };

export interface AppendOptions {
  /** Store nothing if any record conflicts or is foreign (`?atomic=true`). */
  readonly atomic?: boolean;
  /** Gives up waiting for another request's id in flight (ING-520): rejects with DRAINING, nothing stored. */
  readonly signal?: AbortSignal;
}

export interface BatchItem {
  /** The record as it was appended. */
  readonly raw: Uint8Array;
  /** Where the record starts, and the position after it (ING-106). */
  readonly at: Position;
  readonly after: Position;
}

export interface Batch {
  readonly key: Key;
  readonly start: Position;
  readonly items: readonly BatchItem[];
}

/** The last record that the graph is known to hold: travels with a commit (ING-541). */
export interface AppliedMark {
  readonly position: Position;
  readonly sha256: string;
}

export type DeadLetterInput =
  | {
      readonly at: Position;
      readonly raw: Uint8Array;
      readonly attempts: number;
      readonly error: { readonly code: string; readonly message: string };
    }
  | { readonly discarded: string; readonly by: string };

export interface DeadLetterRecord {
  /** `<key>:<epoch>.<start>`; stable over restarts. */
  readonly id: string;
  readonly key: Key;
  readonly at: Position;
  readonly after: Position;
  readonly epoch: string;
  /** RFC 3339 UTC with milliseconds. */
  readonly ts: string;
  readonly sha256: string;
  readonly attempts: number;
  readonly error: { readonly code: string; readonly message: string };
  readonly eventId?: string;
  /** Of a range of a damaged log that was passed over: how many records it held, by the books. Absent for one record (ING-412). */
  readonly records?: number;
  readonly payload: Uint8Array;
  readonly isRetired: boolean;
  readonly outcome:
    | { readonly kind: 'live' }
    | { readonly kind: 'requeued'; readonly ts: string; readonly position: Position }
    | { readonly kind: 'discarded'; readonly ts: string; readonly by: string };
}

export interface QueueCapabilities {
  readonly fsync: 'always' | 'group' | 'none';
  readonly ordered: true;
  readonly logStructured: boolean;
}

/**
 * The neutral surface of a queue (ING-101): ten members, and a test that counts them. What only a log-structured store can do lives on
 * `LogStructuredInternals` of its backend (ING-102).
 *
 * Each method takes the locks it needs by itself. Errors are MillraceErrors: `retry` while the world is busy, `reject` for the caller's
 * fault, `corrupt` when a key's stored state is wrong (the backend has quarantined that key by then), `fenced` when we are no longer the writer.
 */
export interface QueueBackend {
  /** Semver of this interface, on its own (ING-901). */
  readonly protocolVersion: string;
  readonly capabilities: QueueCapabilities;
  /**
   * Makes the records of one request durable, together or not at all (D19, ING-113); resolves after the sync and never before (P1).
   * Look-up of ids, choice of positions and hand-over are one step under the guards of all keys (ING-520). Duplicates, conflicts and
   * foreign records are not stored and do not stop the others; with `atomic`, one conflict or foreign record stores nothing, and what could
   * have been stored comes back as `refused`.
   */
  append(
    records: readonly AppendInput[],
    options?: AppendOptions,
  ): Promise<readonly AppendOutcome[]>;
  /** The next complete records after the committed position; at least one if there is one (ING-402). */
  readBatch(key: Key, max: { readonly records: number; readonly bytes: number }): Promise<Batch>;
  /** Offset and cursor in one atomic step (ING-104); `applied` names the last record that the graph holds now. */
  commit(key: Key, after: Position, cursor: Cursor, applied: AppliedMark | null): Promise<void>;
  /** The cursor of the last durable write; null when none was ever stored (ING-105). */
  readCursor(key: Key): Promise<Cursor | null>;
  /** A commit that also carries dead letters, or the outcome of some, in the same step (D5). */
  deadLetter(
    key: Key,
    letters: readonly DeadLetterInput[],
    after: Position,
    cursor: Cursor,
  ): Promise<void>;
  /** Live and retired letters, oldest first, with their outcome. */
  readDeadLetters(key: Key): Promise<readonly DeadLetterRecord[]>;
  /** Keys with records that wait for a drain, those in quarantine left out. Never proportional to the keys ever known. */
  activeKeys(): Promise<readonly Key[]>;
  close(): Promise<void>;
}

/** Totals of a whole root since it was made (ING-717), as counts of records unless the name says otherwise. */
export interface QueueTotals extends KeyTotals {
  readonly pending: number;
  readonly quarantinedKeys: number;
  readonly activeKeys: number;
  readonly knownKeys: number;
  /** Bytes that wait for a drain. */
  readonly backlogBytes: number;
  /** Accept time of the oldest record that waits, epoch ms; null when none does. */
  readonly oldestPendingMs: number | null;
}

export interface KeyStatus extends KeyTotals {
  readonly key: Key;
  readonly workspace: string;
  readonly session: string;
  readonly epoch: string;
  readonly ordinal: number;
  /** The epoch is over: nothing waits, the log is gone, and the next event begins another one (ING-805). */
  readonly isFinalised: boolean;
  readonly owner: string | null;
  readonly committed: Position;
  readonly end: Position;
  readonly pending: number;
  readonly backlogBytes: number;
  readonly quarantine: {
    readonly code: string;
    readonly message: string;
    readonly since: string;
  } | null;
  /** Last record that the graph is known to hold (ING-541). */
  readonly appliedMark: AppliedMark | null;
}

/** What fails, what it means for clients and what to do, in words that an operator understands. */
export interface QueueTrouble {
  readonly code: string;
  /** Names no session and no path: anybody may read a probe. */
  readonly message: string;
  /** The folder or service that it is about, for those who may know it. */
  readonly place: string;
  /** RFC 3339 UTC. */
  readonly since: string;
  /** Every append is refused while it lasts, so the daemon is not ready; otherwise nothing but tidiness suffers (QFS-31). */
  readonly isRefusing: boolean;
}

/**
 * The books of a queue: a side socket for status, sessions and the drain's arming, kept apart from the neutral surface so that a broker can
 * answer it from its own counters.
 */
export interface QueueLedger {
  totals(): QueueTotals;
  /** Undefined for a key never seen. */
  keyStatus(key: Key): Promise<KeyStatus | undefined>;
  /**
   * Known keys in key order, after `afterKey`; `state` narrows to keys with a backlog or in quarantine. `dead` (keys with live dead letters) and
   * `lettered` (keys with any letter, settled too) are hints: a backend without an index of them may name others too.
   */
  listKeys(page: {
    readonly afterKey?: Key;
    readonly limit: number;
    readonly state?: 'active' | 'quarantined' | 'dead' | 'lettered';
    readonly session?: string;
    readonly workspace?: string;
  }): Promise<readonly KeyStatus[]>;
  /**
   * SHA-256 of the record that ends at `after`, as it was appended: from the log, or where its bytes are gone from what outlived them; undefined
   * when no such record is known (ING-541). Lower-case hex.
   */
  digestEndingAt(key: Key, after: Position): Promise<string | undefined>;
  /** Stops one key for a fault that its reader found (CURSOR_CORRUPT); all others go on (ING-408). */
  quarantine(key: Key, fault: { readonly code: string; readonly message: string }): Promise<void>;
  /** What is wrong with what it stands on, in words; empty when well (QFS-31). */
  trouble(): readonly QueueTrouble[];
}
