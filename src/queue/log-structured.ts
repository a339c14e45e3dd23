import type { BatchItem } from './backend.ts';
import type { Cursor, Key, Position } from '#record';

/**
 * What only a queue of log files can do (ING-102): never on `QueueBackend`, implemented by queue-backends/filesystem alone, and handed to drain
 * and verbs by `daemon/assemble.ts`. Every method takes the key's lock by itself and holds it over the whole of what it does.
 */
export interface LogLifeCycle {
  /** Everything that was handed over is durable and committed; true for a key that has no log. */
  isFullyDrained(key: Key): Promise<boolean>;
  /**
   * Ends the epoch of a drained key (ING-802): its cursor goes to the key's row, its letters to the retired file, its log and at last its offset
   * record go. `late-lines` when something was appended meanwhile: nothing was changed, draining goes on (ING-803). `refused` for a key in
   * quarantine. Begun and not ended, it is completed by the next call, the next append, the next checkpoint or the next start.
   */
  finalize(key: Key): Promise<'done' | 'late-lines' | 'refused'>;
  /**
   * Removes the committed prefix of a log by a switch to a new generation; positions and cursor stay (ING-810…816). Rejects with
   * COMPACTION_REFUSED when a precondition does not hold; `minBytes` is the least prefix that is worth it.
   */
  compactCommittedPrefix(key: Key, minBytes: number): Promise<CompactionReport>;
  /** Makes a cursor durable that was rebuilt from the graph, position as it is (W12, ING-613). */
  seedCursor(key: Key, cursor: Cursor): Promise<void>;
}

/** Takes sessions out of a queue of log files with all that is kept of them. Each step may be repeated. */
export interface KeyRemoval {
  /**
   * Ends the epoch of a drained key, and shuts it: until `reopen` nothing is taken for it (SESSION_DELETING). SESSION_PENDING for a key with records
   * that wait, SESSION_QUARANTINED for one that is stopped; it is as it was then. It stays shut until this process ends, and no longer.
   */
  shut(key: Key): Promise<void>;
  /** Keeps a key shut from the start on, whatever state it is in: a removal was begun by an earlier process. */
  keepShut(key: Key): void;
  /** Log, letters, evidence, ids, rows and books of shut keys go. Found gone already, it is done. */
  remove(keys: readonly Key[]): Promise<void>;
  reopen(key: Key): void;
}

export interface CompactionReport {
  readonly key: Key;
  /** The log generation that is read from now on. */
  readonly generation: number;
  /** Bytes that the log lost, and those that it still has. */
  readonly removedBytes: number;
  readonly keptBytes: number;
}

/** Records beside one of the log, in log order. */
export interface Neighbours {
  readonly before: readonly BatchItem[];
  readonly after: readonly BatchItem[];
}

/** A look at a log around one place, for who has to judge a record: bounded, and it changes nothing. */
export interface LogNeighbours {
  /**
   * Up to `count` records on each side of the one that starts at `at`; undefined when the log does not hold that place any more, or not yet. Rejects
   * with RECORD_CORRUPT for damage in between; nothing is stopped for it.
   */
  neighbours(key: Key, at: Position, count: number): Promise<Neighbours | undefined>;
}

/** A part of a log that went and was kept, gzipped (`queue.archive`). */
export interface KeptArchive {
  readonly key: Key;
  /** Name of its file. */
  readonly name: string;
  readonly bytes: number;
  /** When it was written, epoch ms. */
  readonly atMs: number;
}

/** A dead letter of an epoch that is over, with its outcome. */
export interface SettledLetter {
  readonly key: Key;
  readonly id: string;
  /** Of its lines: the letter and its outcome. */
  readonly bytes: number;
  /** When it was requeued or discarded, epoch ms. */
  readonly settledMs: number;
}

/** What a queue of log files keeps for people alone, for who lets it go by age or size. Keys in quarantine are left out: there it is evidence. */
export interface LogKeeping {
  archives(): AsyncIterable<KeptArchive>;
  /** Those that are gone already are fine. Returns the names of what is there no more; none of a key in quarantine goes. */
  removeArchives(key: Key, names: readonly string[]): Promise<readonly string[]>;
  settledLetters(): AsyncIterable<SettledLetter>;
  /** Takes letters out of the files of epochs that are over, those alone that are settled. Returns the ids of those that are there no more. */
  forgetLetters(key: Key, ids: readonly string[]): Promise<readonly string[]>;
}
