import {
  createMemoryStore,
  openMemoryQueue,
  type MemoryQueueOptions,
  type MemoryStore,
} from '#queue-backends/memory';
import { FencePermit } from '#fence';
import type { QueueBackend, QueueLedger } from '#queue';

export type Queue = QueueBackend & QueueLedger;

/** A permit as room fence would give it out; live until the test says otherwise. */
export function testPermit(generation = 1, isLive: () => boolean = () => true): FencePermit {
  return FencePermit.issue('daemon:SR-test', generation, `holder-${generation}`, isLive);
}

/** The memory queue with defaults for everything that a test does not care about. */
export function openTestQueue(
  options: Partial<MemoryQueueOptions> = {},
): Queue & { readonly store: MemoryStore } {
  const store = options.store ?? createMemoryStore();
  const queue = openMemoryQueue({ permit: testPermit(), ...options, store });
  return Object.assign(queue, { store });
}

export {
  labKey as testKey,
  labRecord as testRecord,
  labWorkspace as testWorkspace,
  type LabRecord as TestRecord,
} from '../../src/lab/records.ts';
