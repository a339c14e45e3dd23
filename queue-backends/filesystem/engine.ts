import type { Chance, Clock } from '#base';
import type { Disk, StagingNames } from '#disk';
import type { FencePermit } from '#fence';
import type { KeyLocks } from '#queue';
import type { Key } from '#record';
import type { StateStore } from '#state';
import type { Filler } from './filler.ts';
import type { DedupIndexer } from './dedup-indexer.ts';
import type { Journal } from './journal.ts';
import type { KeyState } from './key-state.ts';
import type { OffsetRecordStore } from './offset-record.ts';
import type { RootTotals } from './payloads.ts';
import type { SessionFiles } from './session-files.ts';
import type { StateTable } from './state-table.ts';

/** Sizes in bytes. Written limits of the queue (QFS-30…32, ING spec §8). */
export interface QueueLimits {
  readonly segmentBytes: number;
  readonly maxBytes: number;
  readonly maxBytesPerKey: number;
  readonly reserveBytes: number;
  readonly maxEventBytes: number;
  readonly cursorBytesMax: number;
  readonly quarantineBacklogBytes: number;
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
  readonly limits: QueueLimits;
  readonly fsync: 'group' | 'none';
  readonly lockWarnMs: number;
}

export type MutableRootTotals = { -readonly [Member in keyof RootTotals]: RootTotals[Member] };

/** What the parts of the backend share. One per open queue. */
export interface Engine {
  readonly options: FilesystemQueueOptions;
  readonly locks: KeyLocks;
  readonly table: StateTable;
  readonly files: SessionFiles;
  readonly filler: Filler;
  readonly records: OffsetRecordStore;
  readonly indexer: DedupIndexer;
  readonly journal: Journal;
  readonly totals: MutableRootTotals;
  /** Keys with a backlog, and those in quarantine: in memory, and in every mark. */
  readonly active: Set<Key>;
  readonly quarantined: Set<Key>;
  /** Sum of all backlogs in bytes. */
  backlogBytes: number;
  /** Duplicates in frames that are on their way: a mark must not count them yet. */
  duplicatesInFlight: number;
  isClosing: boolean;
}

/** Keeps the sets and the sum right after a key's committed position or end has moved. */
export function noteBacklog(engine: Engine, state: KeyState, before: number): void {
  const now = state.end - state.committed;
  engine.backlogBytes += now - before;
  if (now > 0 && state.quarantine === null) engine.active.add(state.key);
  else engine.active.delete(state.key);
}
