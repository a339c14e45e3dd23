import { describe, expect, it } from 'vitest';
import { everyCrash, namedPowerLosses, recordingDisk, type Crash } from '#disk';
import { memoryState } from '#state';
import { endingLife } from '../../src/lab/history.ts';
import { killedDisk } from '../../src/lab/killed-disk.ts';
import { openLabQueue } from '../../src/lab/lab-queue.ts';
import { limits, live, named, recordedState, stateAfter } from '../../src/lab/recorded-life.ts';
import { seededChance } from '../support/chance.ts';
import { rootDisk } from '../support/filesystem-queue.ts';
import { checkEndings } from './check-endings.ts';

const losses = namedPowerLosses(2, seededChance);
const fewLosses = losses.filter(({ name }) => /bytes lost, entries lost|torn 1/.test(name));
const timeout = 240_000;

async function checkCrash(crash: Crash, generation: number): Promise<void> {
  const { disk } = crash;
  const queue = await openLabQueue({ disk, state: stateAfter(crash), generation, limits });
  try {
    await checkEndings(queue, crash.marks);
  } finally {
    await queue.close();
  }
}

describe('a power loss beside sessions that end and logs that are compacted', () => {
  it(
    'keeps records, cursors, letters and ids at every step (P1…P4, D27, C14…C16, C19…C22, C28, C29, C33, C34)',
    { timeout },
    async () => {
      const disk = recordingDisk(rootDisk());
      const history = await live({ disk, state: memoryState(), generation: 1 }, endingLife);
      await history.queue.close();
      expect(history.failures).toBe(0);
      let count = 0;
      for (const crash of everyCrash(disk.log, fewLosses)) {
        count += 1;
        await named(crash, disk.log, () => checkCrash(crash, 2));
      }
      expect(count).toBeGreaterThan(500);
    },
  );

  it('recovers again when the power is lost at any step of a recovery', { timeout }, async () => {
    const disk = recordingDisk(rootDisk());
    await live({ disk, state: memoryState(), generation: 1 }, endingLife);
    const chance = seededChance(11);
    let count = 0;
    for (const crash of everyCrash(disk.log, losses)) {
      if (chance.float() > 0.006) continue;
      count += await named(crash, disk.log, () => checkInterrupted(crash));
    }
    expect(count).toBeGreaterThan(100);
  });

  it('goes on from whatever a killed process has left (C19…C21)', { timeout }, async () => {
    const untouched = killedDisk(rootDisk(), Number.POSITIVE_INFINITY);
    await live(
      { disk: recordingDisk(untouched, rootDisk()), state: memoryState(), generation: 1 },
      endingLife,
    );
    let count = 0;
    for (let killAt = 4; killAt < untouched.changes; killAt += 5) {
      await killedAt(killAt);
      count += 1;
    }
    expect(count).toBeGreaterThan(60);
  });
});

/** All that was written is there, as kill -9 leaves it. */
async function killedAt(killAt: number): Promise<void> {
  const disk = recordingDisk(rootDisk());
  const state = memoryState();
  const through = killedDisk(disk, killAt);
  await Promise.race([live({ disk, state, generation: 1, through }, endingLife), through.killed]);
  const marks = disk.log.steps.filter((step) => step.kind === 'mark');
  const queue = await openLabQueue({ disk, state, generation: 2, limits });
  try {
    await checkEndings(queue, marks);
  } catch (error) {
    throw new Error(`killed at change ${killAt}`, { cause: error });
  } finally {
    await queue.close();
  }
}

async function checkInterrupted(crash: Crash): Promise<number> {
  const disk = recordingDisk(crash.disk);
  const inner = stateAfter(crash);
  const state = recordedState(disk, inner);
  const queue = await openLabQueue({ disk, state, generation: 2, limits });
  const log = { start: disk.log.start, steps: [...disk.log.steps] };
  await queue.close();
  let count = 0;
  for (const again of everyCrash(log, fewLosses)) {
    const both = { ...again, marks: [...crash.marks, ...again.marks] };
    await named(both, log, () => checkCrash(both, 3));
    count += 1;
  }
  return count;
}
