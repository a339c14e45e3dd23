import { describe, expect, it } from 'vitest';
import { failingDisk, memoryDisk, type FailingDisk } from '#disk';
import { aheadBytes } from '../../../queue-backends/filesystem/journal/segment-ahead.ts';
import {
  SegmentShelf,
  type OpenSegment,
} from '../../../queue-backends/filesystem/journal/segment-shelf.ts';
import { seededChance } from '../../support/chance.ts';
import { append, numbered, pendingNumbers } from '../../contract/queue/steps.ts';
import { turn } from '../../support/turn.ts';
import { segmentPaths, withPlace } from './place.ts';

const directory = '/journal';
const segmentBytes = 8 * 1024 * 1024;

interface Shelf {
  readonly disk: FailingDisk;
  readonly shelf: SegmentShelf;
  readonly current: OpenSegment;
  hasRoom: boolean;
  names(): Promise<readonly string[]>;
}

async function shelfWithCurrent(): Promise<Shelf> {
  const disk = failingDisk(memoryDisk({ directories: [directory] }));
  const room = { hasRoom: true };
  const shelf = new SegmentShelf({
    disk,
    directory,
    chance: seededChance(1),
    generation: 1,
    segmentBytes,
    hasRoomFor: () => room.hasRoom,
    firstNumber: 1,
    old: [],
    poisoned: [],
  });
  const current = await shelf.begin(1, 0, 1000);
  const names = async (): Promise<readonly string[]> =>
    (await disk.readDirectory(directory)).map(({ name }) => name).toSorted();
  return Object.assign(room, { disk, shelf, current, names });
}

/** As if a group had ended there. */
async function fill({ shelf, current }: Shelf, share: number): Promise<void> {
  current.end = Math.floor(segmentBytes * share);
  shelf.prepare(current);
  await turn();
}

describe('the next segment of the journal', () => {
  it('is due in proportion to how full the current one is', () => {
    const size = 100;
    expect([0, 25, 30, 50, 75, 100].map((end) => aheadBytes(end, size))).toEqual([
      0, 0, 10, 50, 100, 100,
    ]);
  });

  it('is made beside the groups, so that beginning it writes a header and no zeros (QFS-05)', async () => {
    const all = await shelfWithCurrent();
    await fill(all, 0.25);
    expect(await all.names()).toHaveLength(1);
    await fill(all, 0.5);
    expect(all.shelf.bytesToGain).toBe(segmentBytes / 2);
    await fill(all, 0.75);
    expect(all.shelf.bytesToGain).toBe(segmentBytes);
    const writes = all.disk.callCount('writeAt');
    const next = await all.shelf.begin(7, 0, 1000);
    expect(all.disk.callCount('writeAt')).toBe(writes + 1);
    expect(next).toMatchObject({ size: segmentBytes, isRecyclable: true, lastSequence: 6 });
    expect(await all.names()).toEqual([all.current.name, next.name]);
    expect(next.name > all.current.name).toBe(true);
    await all.shelf.close();
  });

  it('is finished by who begins it before it is whole', async () => {
    const all = await shelfWithCurrent();
    await fill(all, 0.5);
    const next = await all.shelf.begin(7, 0, 1000);
    expect(next.size).toBe(segmentBytes);
    expect((await all.disk.stat(`${directory}/${next.name}`))?.size).toBe(segmentBytes);
    expect(await all.names()).toHaveLength(2);
    await all.shelf.close();
  });

  it('is left half made where another one is spare by then: nobody waits for its zeros', async () => {
    const all = await shelfWithCurrent();
    await fill(all, 0.3);
    const next = await all.shelf.begin(7, 0, segmentBytes);
    await fill(all, 0.5);
    // What the mark has passed is spare.
    all.current.lastSequence = 6;
    await all.shelf.release(6, next);
    const writes = all.disk.callCount('writeAt');
    const third = await all.shelf.begin(9, 6, 1000);
    expect(all.disk.callCount('writeAt')).toBe(writes + 1);
    expect(third.size).toBe(segmentBytes);
    expect(await all.names()).toHaveLength(3);
    await all.shelf.close();
    expect(await all.names()).toEqual([next.name, third.name].toSorted());
  });

  it('is not made where the drain may need the room, and goes when that becomes so (QFS-30)', async () => {
    const all = await shelfWithCurrent();
    await fill(all, 0.5);
    all.hasRoom = false;
    await fill(all, 0.6);
    expect(all.shelf.bytesToGain).toBe(segmentBytes / 2);
    await all.shelf.release(0, all.current);
    expect(await all.names()).toEqual([all.current.name]);
    await fill(all, 0.7);
    expect(await all.names()).toEqual([all.current.name]);
    await all.shelf.close();
  });

  it.each(['open', 'writeAt', 'sync'] as const)(
    'is made by who begins it where %s failed ahead of time, and no half of it stays (QFS-31)',
    async (call) => {
      const all = await shelfWithCurrent();
      all.disk.plan([{ code: 'EIO', calls: [call], times: 1 }]);
      await fill(all, 0.5);
      expect(all.disk.failureCount()).toBe(1);
      expect(await all.names()).toEqual([all.current.name]);
      await fill(all, 0.6);
      expect(await all.names()).toEqual([all.current.name]);
      const next = await all.shelf.begin(7, 0, 1000);
      expect(await all.names()).toEqual([all.current.name, next.name]);
      await all.shelf.close();
    },
  );

  it('goes with a stop in order, whole or not (QFS-40)', async () => {
    for (const share of [0.5, 0.8]) {
      const all = await shelfWithCurrent();
      await fill(all, share);
      expect(await all.names()).toHaveLength(2);
      await all.shelf.close();
      expect(await all.names()).toEqual([all.current.name]);
    }
  });

  it('costs nothing when a kill -9 comes before it is begun, and goes with the next tenure (P1, QFS-40)', () =>
    withPlace(async (place) => {
      const options = { limits: { segmentBytes: 16 * 1024 } };
      const queue = await place.open(options);
      let count = 0;
      while ((await segmentPaths(place.disk)).length < 2 && count < 200) {
        await append(queue, ...numbered('s', count, 1));
        count += 1;
      }
      const left = await segmentPaths(place.disk);
      expect(left).toHaveLength(2);
      await place.kill();
      const again = await place.open(options);
      expect(await pendingNumbers(again)).toEqual(Array.from({ length: count }, (_, at) => at));
      await append(again, ...numbered('s', count, 1));
      await again.checkpoint();
      const kept = await segmentPaths(place.disk);
      expect(kept.filter((path) => left.includes(path))).toEqual([]);
    }));
});
