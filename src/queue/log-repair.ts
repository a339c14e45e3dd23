import type { AppliedMark } from './backend.ts';
import type { Cursor, Key, Position } from '#record';

/**
 * What a start, or an operator who asks, makes of one key (ING-822). `ok`: nothing of it is on disk; `resumable`: records wait; `drained`: none
 * do; `finish_finalize`: an epoch that is being ended; `reset`: its position is damaged and may be set back by itself; `quarantine`: it stands
 * still until somebody acts; `orphan_record`, `orphan_generation`: what is left of a key whose log is gone, or never came to be.
 */
export type Verdict =
  | 'ok'
  | 'resumable'
  | 'drained'
  | 'finish_finalize'
  | 'reset'
  | 'quarantine'
  | 'orphan_record'
  | 'orphan_generation';

/** Why, for a program: stable, and never reused with another meaning. */
export type VerdictReason =
  | 'no_files'
  | 'pending_records'
  | 'dead_ahead'
  | 'fully_drained'
  | 'finalizing'
  | 'log_missing'
  | 'generation_alone'
  | 'offset_damaged'
  | 'offset_newer'
  | 'offset_out_of_range'
  | 'cursor_damaged'
  | 'generation_damaged'
  | 'log_damaged'
  | 'record_foreign'
  | 'other_damage';

export interface KeyVerdict {
  readonly key: Key;
  readonly verdict: Verdict;
  readonly reason: VerdictReason;
  /** The same in words. */
  readonly message: string;
  readonly pending: number;
}

/** The five ways out of a quarantine, each an explicit act (ING-412). */
export const clearModes = [
  'keep',
  'offset-from-preserved',
  'restart-log',
  'skip-to-end',
  'pass-over',
] as const;
export type ClearMode = (typeof clearModes)[number];

/** Bytes of a log that are no sound record; logical offsets. */
export interface DamagedBytes {
  readonly from: number;
  readonly to: number;
}

export interface PreservedFile {
  readonly name: string;
  readonly bytes: number;
}

/** Whether a way out can be taken now, and why not. */
export interface ClearWay {
  readonly mode: ClearMode;
  readonly applies: boolean;
  readonly reason: string;
}

/** One stopped key, as an operator has to see it before anything is decided. */
export interface QuarantineView {
  readonly key: Key;
  readonly workspace: string;
  readonly session: string;
  readonly code: string;
  readonly message: string;
  /** RFC 3339 UTC with milliseconds. */
  readonly since: string;
  readonly folder: string;
  readonly committed: Position;
  readonly end: Position;
  readonly pending: number;
  readonly backlogBytes: number;
  /** What is wrong with the offset record now; null when it can be read and fits its log. */
  readonly recordFault: string | null;
  /** The first damaged stretches behind the committed position, and how many there are. */
  readonly damage: readonly DamagedBytes[];
  readonly damageCount: number;
  /** Lines of the dead-letter file that cannot be read (ING-414). */
  readonly unparsedLetters: number;
  /** Evidence in the key's folder. */
  readonly preserved: readonly PreservedFile[];
  readonly ways: readonly ClearWay[];
}

export interface ClearOrder {
  readonly mode: ClearMode;
  /** Of `offset-from-preserved`: the name of a file in the key's folder. */
  readonly file?: string;
  /** The authenticated name of who asks. */
  readonly by: string;
  /** The same one again does nothing and is told what was done (C25). */
  readonly operationId: string;
}

/** The cursor behind a record, from the one before it: what the drain would keep, with nothing sent. Pure. */
export type CursorFold = (key: Key, cursor: Cursor, raw: Uint8Array) => Cursor;

/** What the backend cannot know by itself: how records fold, and what the graph holds of the key (ING-541). */
export interface ClearHelp {
  readonly fold: CursorFold;
  readonly graphRow: AppliedMark | null;
}

export interface ClearReport {
  readonly key: Key;
  readonly operationId: string;
  readonly mode: ClearMode;
  /** False when this very operation was done before. */
  readonly isNew: boolean;
  readonly committed: Position;
  /** Where the cursor comes from: kept, of the preserved file, of the generation file, or folded anew. */
  readonly cursorFrom: 'kept' | 'preserved' | 'generation' | 'folded';
  /** Dead letters that the step made, and the records in them. */
  readonly letters: number;
  readonly deadRecords: number;
  /** Records that wait for the drain now. */
  readonly pending: number;
}

export interface ResetOrder {
  readonly by: string;
  readonly operationId: string;
}

export interface ResetReport {
  readonly key: Key;
  readonly operationId: string;
  /** Where the drain begins again, and where it stood. */
  readonly committed: Position;
  readonly before: Position;
  /** The last record that the graph shall hold before the drain begins again; null where that is none. */
  readonly applied: AppliedMark | null;
  readonly pending: number;
}

/** Records. */
export interface LetterCount {
  readonly key: Key;
  /** Dead by the books. */
  readonly counted: number;
  /** In dead letters that are there. */
  readonly found: number;
}

export interface ReconcileReport {
  /** Keys that were looked at, records that were passed, keys that could not be read. */
  readonly keys: number;
  readonly skipped: number;
  readonly failed: readonly Key[];
}

/**
 * What a queue of log files does about damage (ING-102): never on `QueueBackend`. Each method takes the key's lock by itself and holds it over
 * the whole of what it decides and writes (ING-203, ING-707).
 */
export interface LogRepair {
  classify(key: Key): Promise<KeyVerdict>;
  /** Passes the leading dead records of a key; returns how many (ING-702…709). */
  reconcileDead(key: Key): Promise<number>;
  /** The same for all keys, one after another, beside whoever drains (ING-705). Rejects with the signal's reason. */
  reconcileAllDead(signal: AbortSignal): Promise<ReconcileReport>;
  /** Sets a key's position back to where its log begins, with the cursor of that place (W8, ING-219). */
  resetOffset(key: Key, order: ResetOrder): Promise<ResetReport>;
  /** Compares the dead letters in a key's files with its books. */
  countLetters(key: Key): Promise<LetterCount>;
  /**
   * Counts the dead records whose letters are lost as discarded, so that the books speak of what is there; durable when it resolves. WRITE_OFF_REFUSED (`reject`)
   * where none is lost. Returns what was found before.
   */
  writeOffLetters(key: Key): Promise<LetterCount>;
  /** Undefined for a key that is not in quarantine. Reads what waits in its log. */
  showQuarantine(key: Key): Promise<QuarantineView | undefined>;
  /** CLEAR_REFUSED when the way does not apply; it says which does. */
  clearQuarantine(key: Key, order: ClearOrder, help: ClearHelp): Promise<ClearReport>;
}
