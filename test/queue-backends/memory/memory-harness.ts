import { systemChance, systemClock } from '#base';
import { createMemoryStore, openMemoryQueue } from '#queue-backends/memory';
import type { QueueLimits } from '#queue';
import { testPermit, type Queue } from '../../support/queue-fixtures.ts';
import type { QueueHarness } from '../../contract/queue/harness.ts';

/** A sync that a check can hold or fail. */
export function faultySync(): {
  sync(): Promise<void>;
  readonly faults: NonNullable<QueueHarness['faults']>;
} {
  let failures = 0;
  let held: Promise<void> | undefined;
  return {
    async sync() {
      await held;
      if (failures === 0) return;
      failures -= 1;
      throw new Error('EIO: fdatasync');
    },
    faults: {
      failSyncs(count) {
        failures = count;
      },
      holdSyncs() {
        const { promise, resolve } = Promise.withResolvers<void>();
        held = promise;
        return () => {
          held = undefined;
          resolve();
        };
      },
    },
  };
}

/** `wrap` spoils each queue that is opened, for the self-test. */
export async function memoryHarness(
  wrap: (queue: Queue) => Queue = (queue) => queue,
): Promise<QueueHarness> {
  const { sync, faults } = faultySync();
  const store = createMemoryStore(sync);
  let limits: Partial<QueueLimits> = {};
  let generation = 0;
  let isLive = { value: true };
  let last: Queue | undefined;
  const openNext = async (): Promise<Queue> => {
    generation += 1;
    const live = { value: true };
    isLive = live;
    const permit = testPermit(generation, () => live.value);
    const options = { store, permit, limits, clock: systemClock, chance: systemChance };
    last = wrap(openMemoryQueue(options));
    return last;
  };
  return {
    open(wanted = {}) {
      limits = wanted;
      return openNext();
    },
    async reopen() {
      await last?.close();
      return openNext();
    },
    async crash() {
      isLive.value = false;
      return openNext();
    },
    takeOver: openNext,
    loseTenure() {
      isLive.value = false;
    },
    faults,
    async dispose() {
      await last?.close();
    },
  };
}
