import type { AppliedMark } from '#queue';
import type { Key, Position } from '#record';

/** What `queue verify` may find, by machine-readable code (ING-921); docs/operations.md has a row for each. */
export type FindingCode =
  | 'journal_missing'
  | 'segment_header_damaged'
  | 'journal_damaged'
  | 'journal_torn'
  | 'journal_behind'
  | 'folder_unknown'
  | 'folder_misplaced'
  | 'key_mismatch'
  | 'record_missing'
  | 'record_corrupt'
  | 'record_unsupported'
  | 'generation_missing'
  | 'generation_corrupt'
  | 'generation_differs'
  | 'orphan_generation'
  | 'log_missing'
  | 'log_short'
  | 'line_corrupt'
  | 'torn_tail'
  | 'offset_beyond_log'
  | 'offset_misaligned'
  | 'count_differs'
  | 'dead_ahead'
  | 'dead_unreadable'
  | 'dead_digest'
  | 'quarantined'
  | 'graph_differs'
  | 'graph_missing'
  | 'graph_other'
  | 'graph_damaged'
  | 'graph_uncompared'
  | 'finalise_unfinished'
  | 'staging_leftover'
  | 'evidence_kept'
  | 'file_unknown';

/** `note`: nothing to do, the next start puts it right by itself or it is kept on purpose. Only a `finding` makes the exit code 1. */
export type FindingLevel = 'finding' | 'note';

export interface VerifyFinding {
  readonly code: FindingCode;
  readonly level: FindingLevel;
  /** File or folder, relative to the queue folder. */
  readonly path: string;
  readonly message: string;
  /** Byte range in the file, where there is one. */
  readonly from?: number;
  readonly to?: number;
}

/** What a session's files say of the graph: the last record that a commit relied on, and where the log ends. */
export interface BondedLog {
  readonly key: Key;
  readonly mark: AppliedMark | null;
  readonly end: Position;
}

/**
 * What the graph says of it: in words what is wrong, or the digest that the record at a position must have; undefined where both agree, or where nothing can
 * be said.
 */
export type GraphWord =
  | { readonly kind: 'wrong'; readonly message: string }
  | { readonly kind: 'prove'; readonly at: Position; readonly sha256: string }
  | undefined;

/** One session folder, as far as it can be told. Offsets are logical bytes of the epoch. */
export interface VerifiedKey {
  readonly key: string;
  readonly workspace: string | null;
  readonly session: string | null;
  /** `finalised`: no record and no log, by design. */
  readonly state: 'open' | 'finalizing' | 'finalised' | 'unreadable';
  /** Version of the offset record; null when it is missing or cannot be read. */
  readonly record_version: number | null;
  readonly epoch: string | null;
  readonly ordinal: number | null;
  readonly gen: number | null;
  readonly base: number | null;
  /** Committed position and end of what was accepted, journal included. */
  readonly committed: number | null;
  readonly end: number | null;
  /** The committed position stands at the beginning of a line. */
  readonly is_aligned: boolean;
  /** Sound records in the log or the journal, and those of them behind the committed position. */
  readonly records: number;
  readonly pending: number;
  readonly dead: number;
  readonly retired: number;
  readonly quarantine: string | null;
  readonly findings: readonly VerifyFinding[];
}

export interface VerifiedJournal {
  readonly segments: number;
  readonly bytes: number;
  readonly tenure: number;
  readonly mark: number | null;
  readonly last_sequence: number;
  /** Frames that session files need not hold yet. */
  readonly frames_above_mark: number;
  readonly findings: readonly VerifyFinding[];
}

/** What the frames above the mark say of one key: the next start carries it into the files. */
export interface JournalFacts {
  readonly epoch: string;
  readonly ordinal: number;
  /** First logical offset that the frames carry: the log is written over from here (QFS-20). */
  toldFrom: number;
  end: number;
  committed: number | undefined;
  /** Where each record of the frames starts. */
  readonly starts: Set<number>;
  /** A frame changes the folder as a whole (generation, finalise, reset, clear): what stands there now is told anew. */
  isRetold: boolean;
}

export type JournalKeys = ReadonlyMap<Key, JournalFacts>;
