import { describe, expect, it } from 'vitest';
import {
  everyCrash,
  failingDisk,
  namedPowerLosses,
  recordingDisk,
  type Disk,
  type DiskFault,
} from '#disk';
import { memoryState } from '#state';
import { seededChance } from '../support/chance.ts';
import { fakeClock } from '../support/clock.ts';
import {
  labDisk as rootDisk,
  labQueueDirectory as queueDirectory,
  openLabQueue as openQueue,
} from '../../src/lab/lab-queue.ts';
import { testKey } from '../support/queue-fixtures.ts';
import { History } from '../../src/lab/history.ts';
import { checkCrash, limits, live, named } from '../../src/lab/recorded-life.ts';

const timeout = 240_000;
const losses = namedPowerLosses(2, seededChance).filter(({ name }) =>
  /bytes lost, entries lost|torn/.test(name),
);

const unwritable: DiskFault = {
  code: 'EIO',
  path: /w~b/,
  calls: ['makeDirectory', 'open', 'writeAt', 'sync', 'rename'],
  times: Number.POSITIVE_INFINITY,
};

/** Checkpoint after checkpoint that cannot write `b`, while the journal goes through its segments. */
async function lopsidedLife(history: History): Promise<void> {
  await history.append({ n: 1, session: 'a' }, { n: 2, session: 'b', eventId: 'e2' });
  await history.append({ n: 3, session: 'b' });
  await history.drain('b', 1);
  await history.checkpoint();
  for (let round = 1; round <= 3; round += 1) {
    await history.append({ n: round * 10, session: 'a', padding: 6000 });
    await history.append({ n: round * 10 + 1, session: 'b' }, { n: round * 10 + 2, session: 'c' });
    await history.drain('b', 1);
    await history.checkpoint();
  }
  const dead = await history.bury('b');
  await history.checkpoint();
  await history.discard('b', dead);
  await history.append({ n: 99, session: 'b', eventId: 'e99' });
}

async function segmentNames(disk: Disk): Promise<readonly string[]> {
  const entries = await disk.readDirectory(`${queueDirectory}/journal`);
  return entries.map(({ name }) => name).filter((name) => name.endsWith('.wal'));
}

describe('a key whose session files cannot be written', () => {
  it(
    'holds no mark, and keeps its frames through every power loss (P1, P3, P4, QFS-11, C36)',
    { timeout },
    async () => {
      const disk = recordingDisk(rootDisk());
      const through = failingDisk(disk);
      const state = memoryState();
      const history = await live({ disk, state, generation: 1, through }, async (opened) => {
        through.plan([unwritable]);
        await lopsidedLife(opened);
      });
      expect(history.queue.trouble().map(({ message }) => message)).toEqual(
        expect.arrayContaining([expect.stringContaining('a checkpoint failed')]),
      );
      const names = await segmentNames(disk);
      expect(names, 'the segment that opened the key was used again').not.toContain(
        '0000000001-0000000000.wal',
      );
      for (const crash of everyCrash(disk.log, losses))
        await named(crash, disk.log, () => checkCrash(crash, 2));
    },
  );

  it('is written as soon as its files can be again', async () => {
    const disk = recordingDisk(rootDisk());
    const through = failingDisk(disk);
    const state = memoryState();
    const history = await live({ disk, state, generation: 1, through }, async (opened) => {
      through.plan([unwritable]);
      await lopsidedLife(opened);
    });
    through.heal();
    await history.queue.checkpoint();
    expect(history.queue.trouble()).toEqual([]);
    await history.queue.close();
    const again = await openQueue({ disk, state, generation: 2, limits });
    expect(await again.keyStatus(testKey('b'))).toMatchObject({
      accepted: 6,
      applied: 4,
      discarded: 1,
    });
    await again.close();
  });

  it('takes no more once its copies fill half of the journal', async () => {
    const through = failingDisk(rootDisk());
    const queue = await openQueue({ disk: through, limits });
    const history = new History(queue, recordingDisk(through), fakeClock());
    through.plan([unwritable]);
    for (let n = 0; n < 6; n += 1) {
      await history.append({ n, session: 'b', padding: 4000 });
      await history.checkpoint();
    }
    expect(history.failures).toBeGreaterThan(0);
    const before = history.failures;
    await history.append({ n: 100, session: 'a', padding: 4000 });
    expect(history.failures, 'other keys go on').toBe(before);
    through.heal();
    await queue.close();
  });
});
