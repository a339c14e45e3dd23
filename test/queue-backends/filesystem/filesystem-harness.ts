import { systemChance, systemClock } from '#base';
import {
  failingDisk,
  memoryDisk,
  stagingNames,
  type Disk,
  type DiskFile,
  type FailingDisk,
  type MemoryDisk,
} from '#disk';
import type { QueueLimits } from '#queue';
import { openFilesystemQueue } from '#queue-backends/filesystem';
import { memoryState, type StateSnapshot } from '#state';
import type { QueueHarness } from '../../contract/queue/harness.ts';
import { seededChance } from '../../support/chance.ts';
import { testPermit, type Queue } from '../../support/queue-fixtures.ts';

const directory = '/root/queue';
const journal = /\/journal\//;
const power = {
  bytes: 'lost',
  entries: 'lost',
  failedSyncs: 'lost',
  chance: seededChance(1),
} as const;

/** Syncs of the journal that a check can hold. */
class Gate {
  #held: PromiseWithResolvers<void> | undefined;

  hold(): void {
    this.#held = Promise.withResolvers<void>();
  }

  letGo(): void {
    this.#held?.resolve();
    this.#held = undefined;
  }

  around(inner: Disk): Disk {
    const gated = (file: DiskFile): DiskFile => ({
      ...file,
      path: file.path,
      sync: async () => {
        if (journal.test(file.path)) await this.#held?.promise;
        await file.sync();
      },
    });
    return { ...inner, open: async (path, mode) => gated(await inner.open(path, mode)) };
  }
}

/** The filesystem queue on a disk in memory that loses what is not synced, with small segments so that they wrap. */
export async function filesystemHarness(): Promise<QueueHarness> {
  const gate = new Gate();
  const opened: Queue[] = [];
  let memory: MemoryDisk = memoryDisk({ directories: ['/root', directory] });
  let faulty: FailingDisk = failingDisk(memory);
  let state = memoryState();
  let live = { value: true };
  let generation = 0;
  let limits: Partial<QueueLimits> = {};

  const openNext = async (): Promise<Queue> => {
    generation += 1;
    const own = { value: true };
    live = own;
    const queue = await openFilesystemQueue({
      directory,
      disk: gate.around(faulty),
      names: stagingNames(1, systemChance),
      clock: systemClock,
      chance: systemChance,
      permit: testPermit(generation, () => own.value),
      state,
      rootId: 'SR-test',
      limits: {
        segmentBytes: 256 * 1024,
        bytesMax: limits.bytesMax ?? 2 ** 33,
        bytesPerKeyMax: limits.bytesPerKeyMax ?? 2 ** 28,
        reserveBytes: 0,
        cursorBytesMax: limits.cursorBytesMax ?? 2 ** 18,
        quarantineBacklogBytesMax: limits.quarantineBacklogBytesMax ?? 2 ** 26,
      },
      fsync: 'group',
      lockWarnMs: 2000,
    });
    opened.push(queue);
    return queue;
  };

  /** What the power leaves: nothing unsynced, the state as it was flushed last. */
  const losePower = (flushed: StateSnapshot): void => {
    memory = memory.afterPowerLoss(power);
    faulty = failingDisk(memory);
    state = memoryState({ from: flushed });
  };

  return {
    open(wanted = {}) {
      limits = wanted;
      return openNext();
    },
    async reopen() {
      await opened.at(-1)?.close();
      return openNext();
    },
    async crash() {
      live.value = false;
      losePower(state.flushed());
      return openNext();
    },
    takeOver: openNext,
    loseTenure() {
      live.value = false;
    },
    faults: {
      failSyncs(count, after = 0) {
        const fault = {
          code: 'EIO',
          calls: ['sync'],
          path: journal,
          nth: after + 1,
          times: count,
        } as const;
        faulty.plan(count === 0 ? [] : [fault]);
      },
      holdSyncs() {
        gate.hold();
        return () => gate.letGo();
      },
    },
    async dispose() {
      gate.letGo();
      faulty.heal();
      await Promise.allSettled(opened.map((queue) => queue.close()));
    },
  };
}
