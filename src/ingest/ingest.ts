import type { Principal } from '#access';
import type { QueueCapabilities } from '#queue';
import type { Key, Position } from '#record';

export interface IngestLimits {
  /** `ingest.max_event_bytes`, of an event as it was sent. */
  readonly eventBytesMax: number;
  /** `ingest.max_batch_records`. */
  readonly batchRecordsMax: number;
  /** `ingest.max_batch_bytes`, of a body on the wire and unpacked. */
  readonly batchBytesMax: number;
  /** `queue.max_bytes`: a body that cannot fit is refused before it is read (ING-914). */
  readonly queueBytesMax: number;
  /** Bodies in memory, of all requests together. */
  readonly inFlightBytesMax: number;
  /** A request whose id another one is just storing waits this long for it (ING-520). */
  readonly idWaitMs: number;
}

/** How the records stand in a body: one JSON document (an event or an array of them), or one event on each line. */
export type BodyForm = 'json' | 'ndjson';

export interface IngestRequest {
  /** Unpacked. Not kept: lines are built from copies. */
  readonly body: Uint8Array;
  readonly form: BodyForm;
  readonly principal: Principal;
  /** Session that the path fixes for all records. */
  readonly session?: string | undefined;
  /** `Idempotency-Key`: the id of a single event (ING-512). */
  readonly idempotencyKey?: string | undefined;
  /** Store all or nothing (D19). */
  readonly isAtomic?: boolean;
}

/** Why one record was refused for good. */
export interface Reject {
  /** Of the record in the request, from 0. */
  readonly index: number;
  /** Of the body, from 1. */
  readonly line: number;
  readonly code: string;
  readonly message: string;
  /** Where in the event (RFC 6901); absent when the bytes are no JSON or the place does not matter. */
  readonly pointer?: string;
  /** Digest of what is stored under the same id (ING-517). */
  readonly stored_sha256?: string;
}

export type RecordOutcome =
  | {
      readonly status: 'queued' | 'duplicate';
      /** Null for an event that named no session (ING-944). */
      readonly session: string | null;
      readonly workspace: string;
      readonly epoch: string;
      readonly position: Position;
    }
  | { readonly status: 'rejected'; readonly reject: Reject };

/** What became of a request, record by record in its order. */
export interface IngestAnswer {
  /** The body was one event, not a batch of one. */
  readonly isSingle: boolean;
  /** RFC 3339 UTC with milliseconds. */
  readonly acceptedAt: string;
  readonly durability: QueueCapabilities['fsync'];
  readonly outcomes: readonly RecordOutcome[];
  readonly queuedCount: number;
  readonly duplicateCount: number;
  /** The rejects among the outcomes, in order. */
  readonly rejects: readonly Reject[];
  /** A session of the request is in quarantine: its records are safe, and wait for an operator (ING-411). */
  readonly isQuarantined: boolean;
}

/** The one way in. */
export interface Ingest {
  /**
   * Checks every record, stores those that pass as one atomic group, and resolves once they are durable (P1). Nothing that the caller does
   * meanwhile cancels it (ING-917). Rejects for the whole request: BATCH_TOO_LARGE, BATCH_REFUSED, DRAINING, and what the queue says.
   */
  accept(request: IngestRequest): Promise<IngestAnswer>;
  /** Throws what a body of this size on the wire would meet anyway, before it is read (ING-914). */
  checkSize(wireBytes: number): void;
  /** Counts bytes that a request holds in memory; throws QUEUE_FULL at the limit. Whoever reserves releases. */
  reserve(bytes: number): void;
  /** Never throws, also when nothing is taken any more: it ends what was taken before. */
  release(bytes: number): void;
  /** Takes no new request from now on (DRAINING) and resolves when those in flight are answered. */
  stop(): Promise<void>;
}

/** Told of every key that got a record, after it is durable; a hint for the drain. */
export type OnAppended = (key: Key) => void;
