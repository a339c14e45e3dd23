import { describe, expect, it } from 'vitest';
import {
  everyCrash,
  failingDisk,
  materialise,
  namedPowerLosses,
  recordingDisk,
  type RecordingDisk,
} from '#disk';
import { memoryState } from '#state';
import { seededChance } from '../support/chance.ts';
import { rootDisk } from '../support/filesystem-queue.ts';
import { killedDisk } from '../../src/lab/killed-disk.ts';
import { eventfulLife, type History, lateLife } from '../../src/lab/history.ts';
import { checkCrash, checkInterruptedRecovery, live, named } from '../../src/lab/recorded-life.ts';

const losses = namedPowerLosses(2, seededChance);
/** The cruellest two: nothing that was not synced, and any part of it. */
const fewLosses = losses.filter(({ name }) => /bytes lost, entries lost|torn 1/.test(name));
/** A reopening takes 3 ms on an idle machine; the limit is for a busy one. */
const timeout = 240_000;

describe('a power loss under the filesystem queue', () => {
  it(
    'keeps acknowledged records, whole requests, and offset with cursor, at every step (P1, P2, P3, P4)',
    { timeout },
    async () => {
      const disk = recordingDisk(rootDisk());
      const history = await live({ disk, state: memoryState(), generation: 1 }, eventfulLife);
      await history.queue.close();
      expect(history.failures).toBe(0);
      let count = 0;
      for (const crash of everyCrash(disk.log, losses)) {
        count += 1;
        await named(crash, disk.log, () => checkCrash(crash, 2));
      }
      expect(count).toBeGreaterThan(1000);
    },
  );

  it(
    'recovers again when the power is lost at any step of a recovery (P1, P3, P4)',
    { timeout },
    async () => {
      const disk = recordingDisk(rootDisk());
      await live({ disk, state: memoryState(), generation: 1 }, eventfulLife);
      const chance = seededChance(7);
      let count = 0;
      for (const crash of everyCrash(disk.log, fewLosses)) {
        if (chance.float() > 0.02) continue;
        count += await named(crash, disk.log, () => checkInterruptedRecovery(crash, fewLosses));
      }
      expect(count).toBeGreaterThan(300);
    },
  );

  it(
    'builds on nothing that a killed process left in the cache alone (P1, P3)',
    { timeout },
    async () => {
      const untouched = killedDisk(rootDisk(), Number.POSITIVE_INFINITY);
      const whole = recordingDisk(untouched, rootDisk());
      await live({ disk: whole, state: memoryState(), generation: 1 }, eventfulLife);
      let count = 0;
      for (let killAt = 3; killAt < untouched.changes; killAt += 5)
        count += await killedAndLost(killAt);
      expect(count).toBeGreaterThan(300);
    },
  );
});

/** A dead letter of `a` that a checkpoint writes into its file. */
async function buryOne(history: History, beforeCheckpoint: () => void): Promise<void> {
  await history.append({ n: 1, session: 'a' }, { n: 2, session: 'a' });
  await history.checkpoint();
  await history.bury('a');
  beforeCheckpoint();
  await history.checkpoint();
}

/** The power is lost right after the first offset record that was written from a step on, with names kept and lost in every way. */
async function loseNames(disk: RecordingDisk, from: number): Promise<void> {
  const { steps } = disk.log;
  const step = steps.findIndex(
    (one, at) => at >= from && one.kind === 'rename' && one.to.endsWith('/w~a/offset.json'),
  );
  expect(step).toBeGreaterThan(0);
  const marks = steps.slice(0, step).filter((one) => one.kind === 'mark');
  for (let seed = 0; seed < 64; seed += 1) {
    const chance = seededChance(seed);
    const loss = { bytes: 'lost', entries: 'mixed', failedSyncs: 'lost', chance } as const;
    const left = materialise(disk.log, step, loss);
    const crash = { step, loss: `seed ${seed}`, disk: left, marks };
    await named(crash, disk.log, () => checkCrash(crash, 3));
  }
}

describe('a dead letter', () => {
  it(
    'stays when a killed process had renamed its file and not synced the folder (P3)',
    { timeout },
    async () => {
      const disk = recordingDisk(rootDisk());
      const state = memoryState();
      const through = killedDisk(disk, Number.POSITIVE_INFINITY, /dead\.jsonl$/);
      const first = live({ disk, state, generation: 1, through }, (history) =>
        buryOne(history, () => undefined),
      );
      await Promise.race([first, through.killed]);
      const killedAt = disk.log.steps.length;
      await live({ disk, state, generation: 2 }, async () => undefined);
      await loseNames(disk, killedAt);
    },
  );

  it('stays when the sync of its folder failed (P3)', { timeout }, async () => {
    const disk = recordingDisk(rootDisk());
    const through = failingDisk(disk);
    const state = memoryState();
    const history = await live({ disk, state, generation: 1, through }, (opened) =>
      buryOne(opened, () =>
        through.plan([{ code: 'EIO', calls: ['syncDirectory'], path: /w~a$/ }]),
      ),
    );
    expect(through.failureCount()).toBe(1);
    const failedAt = disk.log.steps.length;
    await history.checkpoint();
    await loseNames(disk, failedAt);
  });
});

/** A first life that is killed, a second on what the cache holds, and then the power goes. */
async function killedAndLost(killAt: number): Promise<number> {
  const disk = recordingDisk(rootDisk());
  const state = memoryState();
  const through = killedDisk(disk, killAt);
  const first = live({ disk, state, generation: 1, through }, eventfulLife);
  await Promise.race([first, through.killed]);
  const killedAt = disk.log.steps.length;
  await live({ disk, state, generation: 2 }, lateLife);
  const chance = seededChance(killAt);
  let count = 0;
  for (const crash of everyCrash(disk.log, fewLosses)) {
    if (crash.step < killedAt || chance.float() > 0.5) continue;
    count += 1;
    await named(crash, disk.log, () => checkCrash(crash, 3));
  }
  return count;
}
