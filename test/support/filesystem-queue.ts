import type { FilesystemQueue } from '#queue-backends/filesystem';
import { openLabQueue, type LabQueueOptions } from '../../src/lab/lab-queue.ts';
import { testPermit } from './queue-fixtures.ts';

export {
  labDisk as rootDisk,
  labQueueDirectory as queueDirectory,
  smallLimits,
  type LabQueueOptions as TestQueueOptions,
} from '../../src/lab/lab-queue.ts';

/** The filesystem queue on a memory disk and a memory state store, with defaults for everything that a test does not care about. */
export function openQueue(options: LabQueueOptions = {}): Promise<FilesystemQueue> {
  const { generation = 1, isLive } = options;
  return openLabQueue({ permit: testPermit(generation, isLive), rootId: 'SR-test', ...options });
}
