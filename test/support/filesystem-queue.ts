import type { Chance, Clock } from '#base';
import { memoryDisk, stagingNames, type Disk } from '#disk';
import {
  openFilesystemQueue,
  type FilesystemQueue,
  type FilesystemQueueLimits,
} from '#queue-backends/filesystem';
import { memoryState, type StateStore } from '#state';
import { seededChance } from './chance.ts';
import { fakeClock } from './clock.ts';
import { testPermit } from './queue-fixtures.ts';

export const queueDirectory = '/root/queue';

/** Small segments, so that a short history rolls them. */
export const smallLimits: FilesystemQueueLimits = {
  segmentBytes: 64 * 1024,
  bytesMax: 64 * 2 ** 20,
  bytesPerKeyMax: 16 * 2 ** 20,
  reserveBytes: 0,
  cursorBytesMax: 64 * 2 ** 10,
  quarantineBacklogBytesMax: 2 ** 20,
};

export interface TestQueueOptions {
  readonly disk?: Disk;
  readonly state?: StateStore;
  readonly generation?: number;
  readonly isLive?: () => boolean;
  readonly clock?: Clock;
  readonly chance?: Chance;
  readonly limits?: Partial<FilesystemQueueLimits>;
  readonly directory?: string;
  readonly rootId?: string;
  readonly graphId?: string;
  readonly fsync?: 'group' | 'none';
}

/** A disk with the root's folder on it. */
export function rootDisk(): ReturnType<typeof memoryDisk> {
  return memoryDisk({ directories: ['/root'] });
}

/** The filesystem queue on a memory disk and a memory state store, with defaults for everything that a test does not care about. */
export function openQueue(options: TestQueueOptions = {}): Promise<FilesystemQueue> {
  const { generation = 1, isLive = () => true } = options;
  const permit = testPermit(generation, isLive);
  const chance = options.chance ?? seededChance(generation);
  return openFilesystemQueue({
    directory: options.directory ?? queueDirectory,
    disk: options.disk ?? rootDisk(),
    names: stagingNames(4711, seededChance(1000 + generation)),
    clock: options.clock ?? fakeClock(),
    chance,
    permit,
    state: options.state ?? memoryState({ permit }),
    rootId: options.rootId ?? 'SR-test',
    ...(options.graphId === undefined ? {} : { graphId: options.graphId }),
    limits: { ...smallLimits, ...options.limits },
    fsync: options.fsync ?? 'group',
    lockWarnMs: 2000,
  });
}
