import type { Chance, Clock, Gate } from '#base';
import type { Disk, StagingNames } from '#disk';
import type { FencePermit } from '#fence';
import type { KeyLocks, QueueLimits, QueueTrouble } from '#queue';
import type { Key } from '#record';
import type { StateDamage, StateStore } from '#state';
import type { Filler } from './session/filler.ts';
import type { DedupIndexer } from './append/dedup-indexer.ts';
import type { Journal } from './journal/journal.ts';
import { type KeyState, isEnding } from './session/key-state.ts';
import type { LetteredKeys } from './lettered-keys.ts';
import type { DeadKeys } from './dead-keys.ts';
import type { KeyNames } from './key-names.ts';
import type { OffsetRecords } from './session/offset-record.ts';
import type { RootTotals } from './journal/payloads.ts';
import type { LetterGap } from './repair/count-letters.ts';
import type { SessionFiles } from './session/session-files.ts';
import type { SpaceWatch } from './space-watch.ts';
import type { StateTable } from './session/state-table.ts';
import { dropTail } from './session/tail.ts';

/** The limits of every queue, and what only this one has: sizes in bytes (QFS-30, QFS-31, ING spec §8). */
export interface FilesystemQueueLimits extends QueueLimits {
  readonly segmentBytes: number;
  /** Kept free for commits, dead letters and deletes (QFS-30); null: 256 MiB or 5 % of the file system, the smaller. */
  readonly reserveBytes: number | null;
  /** A log up to this size whose position is damaged is drained again from its beginning by itself (ING-822); never where it is not given. */
  readonly autoResetBytesMax?: number;
}

export interface CompactionLimits {
  /** How long a key must have been drained, in ms. */
  readonly idleMs: number;
  /** The least committed prefix that is worth it, in bytes. */
  readonly minBytes: number;
}

export const compactionDefault: CompactionLimits = { idleMs: 60_000, minBytes: 2 ** 20 };

/** The state store was lost or is an older copy: it knows the frames up to one sequence, and those up to another have left the journal. */
export interface StateGap {
  readonly knownThrough: number;
  readonly neededThrough: number;
}

export interface FilesystemQueueOptions {
  /** `<root>/queue` */
  readonly directory: string;
  readonly disk: Disk;
  readonly names: StagingNames;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly permit: FencePermit;
  readonly state: StateStore;
  readonly rootId: string;
  /** The graph that this root is applied to (ING-540); kept in format.json once it is known. */
  readonly graphId?: string;
  readonly limits: FilesystemQueueLimits;
  readonly fsync: 'group' | 'none';
  /** When the log of a drained key is compacted (ING-813); as the default says where it is not given. */
  readonly compaction?: CompactionLimits;
  /** `queue.archive`, asked each time: logs are kept, gzipped, when they go (D31). Never where it is not given. */
  readonly isArchiving?: () => boolean;
  readonly lockWarnMs: number;
  /** What a read of the state store has met, if anything: what depends on it is refused (SC-052). */
  readonly stateDamage?: () => StateDamage | undefined;
  /** Told before anything is written: the state store lacks what the journal's mark says it holds. */
  readonly onStateBehind?: (gap: StateGap) => Promise<void>;
  /** Goes around the lock table: a test can take one lock away and see what it guarded (ING-T00). */
  readonly aroundLocks?: (table: KeyLocks) => KeyLocks;
  /** Session logs kept open (QFS-15); 256 where it is not given. */
  readonly logHandlesMax?: number;
}

export type MutableRootTotals = { -readonly [Member in keyof RootTotals]: RootTotals[Member] };

/** What the parts of the backend share. One per open queue. */
export interface Engine {
  readonly options: FilesystemQueueOptions;
  readonly locks: KeyLocks;
  readonly table: StateTable;
  readonly names: KeyNames;
  readonly deadKeys: DeadKeys;
  readonly letteredKeys: LetteredKeys;
  readonly files: SessionFiles;
  readonly filler: Filler;
  readonly records: OffsetRecords;
  readonly indexer: DedupIndexer;
  readonly space: SpaceWatch;
  readonly journal: Journal;
  /** Passed by whatever changes session files or lets segments go, and by what writes ids and rows: held while they are copied (D31). */
  readonly filesGate: Gate;
  readonly stateGate: Gate;
  readonly totals: MutableRootTotals;
  /** Keys with a backlog, or whose epoch has to end, and those in quarantine: in memory, and in every mark. */
  readonly active: Set<Key>;
  readonly quarantined: Set<Key>;
  /** Drained keys with a log that is worth a compaction, longest idle first, and since when (monotonic, ms): in every mark too. */
  readonly idle: Map<Key, number>;
  /** Keys that are being deleted: nothing is taken for them. */
  readonly shut: Set<Key>;
  /** Keys whose end is durable in the journal while something of them is left: no mark passes it before that is gone. */
  readonly removed: Set<Key>;
  /** Sum of all backlogs in bytes. */
  backlogBytes: number;
  /** Duplicates that were answered and that no durable frame carries yet. */
  pendingDuplicates: number;
  /** Bytes of frames that the last checkpoint had to carry along (QFS-11). */
  copiedBytes: number;
  /** Why the last checkpoint failed, or a key of it; undefined when all is well. */
  checkpointTrouble: { readonly error: unknown; readonly since: number } | undefined;
  /** The last failure of reading a key's files, and when (monotonic ms): it is told for a while, others may be read meanwhile. */
  readTrouble:
    | { readonly error: unknown; readonly since: number; readonly lastMs: number }
    | undefined;
  /** Losses that a start has found, until an operator removes what tells of them. */
  readonly notes: readonly QueueTrouble[];
  /** Keys whose files do not hold the dead letters that their books count. */
  readonly letterGaps: Map<Key, LetterGap>;
  /** No step of recovery is left: what a load finds behind a checkpointed end may be taken in. */
  isRecovered: boolean;
  isClosing: boolean;
}

/** Keeps the sets and the sum right after a key's committed position or end has moved. */
export function noteBacklog(engine: Engine, state: KeyState, before: number): void {
  const now = state.end - state.committed;
  const { key } = state;
  engine.backlogBytes += now - before;
  const isStopped = state.quarantine !== null;
  if ((now > 0 || isEnding(state)) && !isStopped) engine.active.add(key);
  else engine.active.delete(key);
  const { minBytes } = engine.options.compaction ?? compactionDefault;
  const isWorthIt = state.isOpen && state.committed - state.base >= Math.max(1, minBytes);
  if (now > 0 || isStopped || !isWorthIt) engine.idle.delete(key);
  else if (!engine.idle.has(key)) engine.idle.set(key, engine.options.clock.monotonic());
}

/** The epoch of a key is over: nothing of it is in memory any more, the key's row stands for it (ING-802). */
export function forgetKey(engine: Engine, state: KeyState): void {
  state.isOpen = false;
  state.isFinalising = false;
  dropTail(state);
  engine.table.remove(state);
  engine.active.delete(state.key);
  engine.quarantined.delete(state.key);
  engine.idle.delete(state.key);
}
