import type { Chance, Clock } from '#base';
import { memoryDisk, stagingNames, type Disk, type MemoryDisk } from '#disk';
import type { KeyLocks } from '#queue';
import { labPermit, labRootId, type FencePermit } from '#fence';
import {
  openFilesystemQueue,
  type CompactionLimits,
  type FilesystemQueue,
  type FilesystemQueueLimits,
  type FilesystemQueueOptions,
} from '#queue-backends/filesystem';
import { memoryState, type StateStore } from '#state';
import { seededChance } from './seeded-chance.ts';
import { simulatedClock } from './simulated-clock.ts';

export const labQueueDirectory = '/root/queue';

/** Small segments, so that a short history rolls them. */
export const smallLimits: FilesystemQueueLimits = {
  segmentBytes: 64 * 1024,
  bytesMax: 64 * 2 ** 20,
  bytesPerKeyMax: 16 * 2 ** 20,
  reserveBytes: 0,
  cursorBytesMax: 64 * 2 ** 10,
  quarantineBacklogBytesMax: 2 ** 20,
};

export interface LabQueueOptions {
  readonly disk?: Disk;
  readonly state?: StateStore;
  readonly generation?: number;
  readonly isLive?: () => boolean;
  /** In place of one made of `generation` and `isLive`. */
  readonly permit?: FencePermit;
  readonly clock?: Clock;
  readonly chance?: Chance;
  readonly limits?: Partial<FilesystemQueueLimits>;
  readonly directory?: string;
  readonly rootId?: string;
  readonly graphId?: string;
  readonly fsync?: 'group' | 'none';
  readonly compaction?: CompactionLimits;
  readonly isArchiving?: () => boolean;
  readonly onStateBehind?: FilesystemQueueOptions['onStateBehind'];
  readonly aroundLocks?: (table: KeyLocks) => KeyLocks;
}

/** A disk with the root's folder on it. */
export function labDisk(): MemoryDisk {
  return memoryDisk({ directories: ['/root'] });
}

/** The filesystem queue on a memory disk and a memory state store, with defaults for everything that a run does not care about. */
export function openLabQueue(options: LabQueueOptions = {}): Promise<FilesystemQueue> {
  const { generation = 1, isLive = () => true } = options;
  const permit = options.permit ?? labPermit(generation, isLive);
  const chance = options.chance ?? seededChance(generation);
  return openFilesystemQueue({
    directory: options.directory ?? labQueueDirectory,
    disk: options.disk ?? labDisk(),
    names: stagingNames(4711, seededChance(1000 + generation)),
    clock: options.clock ?? simulatedClock(),
    chance,
    permit,
    state: options.state ?? memoryState({ permit }),
    rootId: options.rootId ?? labRootId,
    ...(options.graphId === undefined ? {} : { graphId: options.graphId }),
    limits: { ...smallLimits, ...options.limits },
    fsync: options.fsync ?? 'group',
    ...(options.onStateBehind === undefined ? {} : { onStateBehind: options.onStateBehind }),
    ...(options.aroundLocks === undefined ? {} : { aroundLocks: options.aroundLocks }),
    ...(options.compaction === undefined ? {} : { compaction: options.compaction }),
    ...(options.isArchiving === undefined ? {} : { isArchiving: options.isArchiving }),
    lockWarnMs: 2000,
  });
}
