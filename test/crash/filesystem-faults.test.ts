import { describe, expect, it } from 'vitest';
import { assert } from '#base';
import {
  everyCrash,
  failingDisk,
  namedPowerLosses,
  recordingDisk,
  type Crash,
  type DiskCall,
  type FailingDisk,
} from '#disk';
import { memoryState } from '#state';
import { seededChance } from '../support/chance.ts';
import { fakeClock } from '../support/clock.ts';
import { labDisk as rootDisk, openLabQueue as openQueue } from '../../src/lab/lab-queue.ts';
import { checkRecovered } from '../../src/lab/check-recovered.ts';
import { eventfulLife } from '../../src/lab/history.ts';
import { checkCrash, limits, live, named, stateAfter } from '../../src/lab/recorded-life.ts';

const timeout = 240_000;
const losses = namedPowerLosses(2, seededChance).filter(({ name }) =>
  /bytes kept, entries kept|bytes lost, entries lost|torn 1/.test(name),
);

interface Place {
  readonly call: DiskCall;
  readonly path: RegExp;
  readonly code: string;
}

const places: readonly Place[] = [
  { call: 'sync', path: /\.wal$/, code: 'EIO' },
  { call: 'writeAt', path: /\.wal$/, code: 'ENOSPC' },
  { call: 'open', path: /\.wal$/, code: 'EMFILE' },
  { call: 'rename', path: /\.wal$/, code: 'EIO' },
  { call: 'syncDirectory', path: /journal$/, code: 'EIO' },
  { call: 'writeAt', path: /log\.\d+\.jsonl$/, code: 'ENOSPC' },
  { call: 'sync', path: /log\.\d+\.jsonl$/, code: 'EIO' },
  { call: 'sync', path: /\.tmp$/, code: 'EIO' },
  { call: 'rename', path: /\.tmp$/, code: 'EIO' },
  { call: 'makeDirectory', path: /sessions/, code: 'ENOSPC' },
  { call: 'syncDirectory', path: /sessions/, code: 'EIO' },
  { call: 'readFile', path: /sessions/, code: 'EIO' },
];

/** A life in which one call fails, its end, and the power loss at a few of its steps. */
async function sweep(place: Place, nth: number): Promise<boolean> {
  const recording = recordingDisk(rootDisk());
  const failing = failingDisk(recording);
  const state = memoryState();
  const history = await live(
    { disk: recording, state, generation: 1, through: failing },
    async (opened) => {
      failing.plan([{ code: place.code, calls: [place.call], path: place.path, nth }]);
      await eventfulLife(opened);
      await opened.tick();
    },
  );
  if (failing.failureCount() === 0) return false;
  await closeWell(history.queue, failing);
  const chance = seededChance(nth);
  for (const crash of everyCrash(recording.log, losses))
    if (chance.float() < 0.03) await named(crash, recording.log, () => checkCrash(crash, 2));
  const marks = recording.log.steps.filter((step) => step.kind === 'mark');
  const again = await openQueue({ disk: recording, state, generation: 2, limits });
  await checkRecovered(again, recording, marks);
  await again.close();
  return true;
}

/** The disk is well again: nothing is left that would keep the queue from stopping in order. */
async function closeWell(
  queue: Awaited<ReturnType<typeof live>>['queue'],
  failing: FailingDisk,
): Promise<void> {
  failing.heal();
  expect(queue.trouble().filter(({ message }) => message.startsWith('the journal'))).toEqual([]);
  await queue.checkpoint();
  // A read that failed is told for a few seconds, since nobody may ask again.
  const lasting = queue.trouble().filter(({ message }) => !message.includes('cannot be read'));
  expect(lasting).toEqual([]);
  await queue.close();
}

describe('a call that fails under the filesystem queue', () => {
  for (const place of places)
    it(
      `loses nothing and heals when ${place.call} of ${place.path.source} fails with ${place.code} (P1, P3, P4)`,
      { timeout },
      async () => {
        let nth = 1;
        while (nth < 60 && (await failed(place, nth))) nth += 1;
        expect(nth, 'the call was met').toBeGreaterThan(1);
      },
    );

  it(
    'starts again after a start that failed at any call of the disk (QFS-21)',
    { timeout },
    async () => {
      const recording = recordingDisk(rootDisk());
      await live({ disk: recording, state: memoryState(), generation: 1 }, eventfulLife);
      const crash = [...everyCrash(recording.log, losses)].at(-1);
      assert(crash !== undefined, 'a life has steps');
      let nth = 1;
      while (await startsAgain(crash, nth)) nth += 1;
      expect(nth).toBeGreaterThan(50);
    },
  );
});

/** False when the start makes fewer calls. */
async function startsAgain(crash: Crash, nth: number): Promise<boolean> {
  const disk = crash.disk.copy();
  const failing = failingDisk(disk, [{ code: 'EIO', nth }]);
  const state = stateAfter(crash);
  const clock = fakeClock();
  try {
    const queue = await openQueue({ disk: failing, state, generation: 2, limits, clock });
    failing.heal();
    await queue.close();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
  expect(disk.openPaths(), 'a start that fails closes what it opened').toEqual([]);
  expect(clock.waitingCount()).toBe(0);
  if (failing.failureCount() === 0) return false;
  await checkCrash(crash, 3, disk, state);
  return true;
}

async function failed(place: Place, nth: number): Promise<boolean> {
  try {
    return await sweep(place, nth);
  } catch (error) {
    throw new Error(`call ${nth} of ${place.call} ${place.path.source}`, { cause: error });
  }
}
