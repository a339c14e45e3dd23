import { systemChance, systemClock } from '#base';
import { createMemoryStore, openMemoryQueue } from '#queue-backends/memory';
import type { QueueLimits } from '#queue';
import { testPermit, type Queue } from '../../support/queue-fixtures.ts';
import type { QueueHarness } from '../../contract/queue/harness.ts';

/** A sync that a check can hold or fail. */
export function faultySync(): {
  sync(): Promise<void>;
  readonly faults: NonNullable<QueueHarness['faults']>;
  letGo(): void;
} {
  let failures = 0;
  let passes = 0;
  let held: PromiseWithResolvers<void> | undefined;
  const letGo = (): void => {
    held?.resolve();
    held = undefined;
  };
  return {
    letGo,
    async sync() {
      await held?.promise;
      if (passes > 0) passes -= 1;
      else if (failures > 0) {
        failures -= 1;
        throw new Error('EIO: fdatasync');
      }
    },
    faults: {
      failSyncs(count, after = 0) {
        failures = count;
        passes = after;
      },
      holdSyncs() {
        held = Promise.withResolvers<void>();
        return letGo;
      },
    },
  };
}

/** `wrap` spoils each queue that is opened, for the self-test. */
export async function memoryHarness(
  wrap: (queue: Queue) => Queue = (queue) => queue,
): Promise<QueueHarness> {
  const { sync, faults, letGo } = faultySync();
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
    refusesStale: true,
    loseTenure() {
      isLive.value = false;
    },
    faults,
    async dispose() {
      letGo();
      await last?.close();
    },
  };
}
