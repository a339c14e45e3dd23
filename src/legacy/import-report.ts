import type { Clock } from '#base';
import type { Disk } from '#disk';
import type { Drain } from '#drain';
import type { Ingest } from '#ingest';
import type { QueueBackend, QueueLedger } from '#queue';
import type { Key, KeyEncoding } from '#record';
import type { StartPlan } from './plan-start.ts';

/** What the one tolerant reader of offset records says (ING-213): handed in, since the queue's plug owns it. */
export type LegacyOffset =
  | { readonly kind: 'legacy' | 'native'; readonly offset: number }
  | { readonly kind: 'unsupported'; readonly minReader: number }
  | { readonly kind: 'corrupt'; readonly reason: string };

export interface ImportNeeds {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly ingest: Ingest;
  readonly queue: QueueBackend;
  readonly ledger: QueueLedger;
  readonly drain: Pick<Drain, 'idle' | 'status'>;
  readonly keyEncoding: KeyEncoding;
  readonly eventBytesMax: number;
  parseOffset(bytes: Uint8Array): LegacyOffset;
  /** Forgets event ids, so that the same events count as new (SC-018). */
  forgetIds(key: Key, eventIds: readonly string[]): Promise<void>;
  /** Ends the drain at batch borders: from then on nobody but the import commits. */
  stopDrain(): Promise<void>;
}

export interface ImportOptions {
  readonly folder: string;
  /** For lines that name none. */
  readonly workspace?: string | undefined;
  /** Only what the predecessor had not committed. */
  readonly isPendingOnly?: boolean;
  /** Ids of these events are forgotten first. */
  readonly doesResetDedup?: boolean;
  readonly onRefused: (line: RefusedLine) => void;
  readonly onProgress: (seen: { readonly sessions: number; readonly lines: number }) => void;
}

/** A line that did not go in: it stays in the source, and is told with its place. */
export interface RefusedLine {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Bytes in the file. */
  readonly offset: number;
  readonly length: number;
  readonly code: string;
  readonly message: string;
  /** The line itself; of one that is too long its beginning. */
  readonly bytes: Uint8Array;
}

export interface SessionReport {
  readonly name: string;
  readonly log: string | null;
  /** How far the predecessor had come; null without a log. */
  readonly offset: Pick<StartPlan, 'reason' | 'message'> & { readonly handled_to: number | null };
  /** `refused`: nothing of the log was taken. */
  readonly state: 'imported' | 'refused';
  /** Lines of the log that hold something. */
  lines: number;
  /** Of these: up to the offset, and behind it; null where nobody can say. */
  handled: number | null;
  pending: number | null;
  /** New in this root, known already, refused, and those that are dead letters. */
  queued: number;
  duplicates: number;
  refused: number;
  dead_lines: number;
  /** Of the dead-letter files: lines, taken, known already, and those whose session still has to drain. */
  letters: number;
  letters_taken: number;
  letters_known: number;
  letters_waiting: number;
}

export interface ImportReport {
  readonly folder: string;
  readonly sessions: readonly SessionReport[];
  readonly not_taken: readonly { readonly name: string; readonly reason: string }[];
}
