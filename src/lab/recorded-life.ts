import {
  everyCrash,
  recordingDisk,
  type Crash,
  type Disk,
  type NamedPowerLoss,
  type RecordingDisk,
} from '#disk';
import { memoryState, type MemoryState, type StateSnapshot, type StateStore } from '#state';
import { checkRecovered } from './check-recovered.ts';
import { History } from './history.ts';
import { openLabQueue, type LabQueueOptions } from './lab-queue.ts';
import { seededChance } from './seeded-chance.ts';
import { simulatedClock } from './simulated-clock.ts';

const stateLabel = 'state';
/** So small that a short life rolls several segments. */
export const limits: NonNullable<LabQueueOptions['limits']> = { segmentBytes: 8 * 1024 };

/** A state store that tells, between the disk's steps, what a power loss may leave of it. */
export function recordedState(disk: RecordingDisk, inner: MemoryState): StateStore {
  const tell = (): void => {
    disk.mark(stateLabel, inner.snapshots());
  };
  tell();
  return {
    getDedup: (key, id) => inner.getDedup(key, id),
    getProgress: (key) => inner.getProgress(key),
    getRow: (key) => inner.getRow(key),
    checkpointedThrough: () => inner.checkpointedThrough(),
    rowKeys: (page) => inner.rowKeys(page),
    async forgetIds(permit, key, which) {
      const count = await inner.forgetIds(permit, key, which);
      tell();
      return count;
    },
    getEpoch: (key, ordinal) => inner.getEpoch(key, ordinal),
    async write(permit, writes) {
      await inner.write(permit, writes);
      tell();
    },
    async flush() {
      await inner.flush();
      tell();
    },
    close: () => inner.close(),
  };
}

/** One of the states that the power loss may have left, by chance of the step. */
export function stateAfter(crash: Crash): MemoryState {
  const marks = crash.marks.filter(({ label }) => label === stateLabel);
  const snapshots = (marks.at(-1)?.detail ?? []) as readonly StateSnapshot[];
  const chance = seededChance(crash.step * 31 + crash.loss.length);
  const from = snapshots[Math.floor(chance.float() * snapshots.length)];
  return memoryState(from === undefined ? {} : { from });
}

export interface LifeOptions {
  readonly disk: RecordingDisk;
  readonly state: MemoryState;
  readonly generation: number;
  /** What the life does its work on; the recording disk where it is not given. */
  readonly through?: Disk;
}

/** Opens a queue over the recording disk, lives, and does not close: a crash comes without notice. */
export async function live(
  options: LifeOptions,
  life: (history: History) => Promise<void>,
): Promise<History> {
  const clock = simulatedClock();
  const { disk, generation, through = disk } = options;
  const state = recordedState(disk, options.state);
  const queue = await openLabQueue({ disk: through, state, clock, limits, generation });
  const history = new History(queue, disk, clock);
  await life(history);
  return history;
}

/** Reopens what a crash left, checks it, and closes. */
export async function checkCrash(
  crash: Crash,
  generation: number,
  disk: Disk = crash.disk,
  state: StateStore = stateAfter(crash),
): Promise<void> {
  const queue = await openLabQueue({ disk, state, generation, limits });
  try {
    await checkRecovered(queue, disk, crash.marks);
  } finally {
    await queue.close();
  }
}

/** Recovers what a crash left on a recording disk, and checks what every crash of that recovery leaves in turn (QFS-21). */
export async function checkInterruptedRecovery(
  crash: Crash,
  losses: readonly NamedPowerLoss[],
): Promise<number> {
  const disk = recordingDisk(crash.disk);
  const inner = stateAfter(crash);
  const queue = await openLabQueue({
    disk,
    state: recordedState(disk, inner),
    generation: 2,
    limits,
  });
  const { steps } = disk.log;
  const log = { start: disk.log.start, steps: [...steps] };
  await queue.close();
  let count = 0;
  for (const again of everyCrash(log, losses)) {
    const both = { ...again, marks: [...crash.marks, ...again.marks] };
    await named(both, log, () => checkCrash(both, 3));
    count += 1;
  }
  return count;
}

/** Says at which step a crash was found bad; `materialise` makes it again. */
export async function named<T>(
  crash: Crash,
  log: RecordingDisk['log'],
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const step = log.steps[crash.step];
    const what =
      step === undefined
        ? 'nothing'
        : JSON.stringify({ ...step, bytes: undefined, detail: undefined });
    throw new Error(`crash after step ${crash.step} (${what}), ${crash.loss}`, { cause: error });
  }
}
