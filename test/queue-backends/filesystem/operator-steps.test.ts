import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import { armFailpoints, disarmFailpoints } from '#disk';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import {
  append,
  assertBooks,
  cursorAt,
  item,
  letterFor,
  numbered,
  pendingNumbers,
  statusOf,
} from '../../contract/queue/steps.ts';
import { edit, namesIn, readText, segmentPaths, withPlace, type Place } from './place.ts';
import { apply, clear, folder, key, marker, offsetPath, seen, settled } from './stopped-key.ts';

const lab = { isLabRoot: true, clock: systemClock };

afterEach(disarmFailpoints);

/** The daemon ends at the step, and another finds what it has left. */
async function endsAt(
  place: Place,
  point: string,
  act: () => Promise<unknown>,
): Promise<FilesystemQueue> {
  armFailpoints(`${point}=error:EIO`, lab);
  await expect(act(), `${point} is passed`).rejects.toThrow();
  await place.kill();
  disarmFailpoints();
  return place.open();
}

async function stoppedByItsRecord(place: Place): Promise<FilesystemQueue> {
  await settled(place);
  await edit(place.disk, offsetPath, () => Buffer.alloc(0));
  const queue = await place.open();
  expect((await statusOf(queue, key)).quarantine?.code).toBe('OFFSET_CORRUPT');
  return queue;
}

describe('a daemon that ends in a way out of quarantine', () => {
  for (const point of ['clear:before-frame', 'position:before-frame'])
    it(`leaves the session stopped at ${point}, and the way is taken again (C25, ING-410)`, () =>
      withPlace(async (place) => {
        const first = await stoppedByItsRecord(place);
        const queue = await endsAt(place, point, () => clear(first, 'restart-log'));
        expect((await statusOf(queue, key)).quarantine?.code).toBe('OFFSET_CORRUPT');
        expect(await namesIn(place.disk, folder, marker)).toHaveLength(1);
        await clear(queue, 'restart-log');
        await apply(queue, 2);
        expect(await seen(queue)).toEqual(['r0', 'r1']);
        await assertBooks(queue, { accepted: 8, applied: 2, dead: 1 });
      }));

  for (const point of ['position:after-frame', 'clear:marker-unlinked'])
    it(`leaves it cleared at ${point}: the frame is durable, and the same operation again changes nothing (C25)`, () =>
      withPlace(async (place) => {
        const first = await stoppedByItsRecord(place);
        const operationId = `op-${point}`;
        const act = (): Promise<unknown> => clear(first, 'restart-log', { operationId });
        const queue = await endsAt(place, point, act);
        expect((await statusOf(queue, key)).quarantine).toBeNull();
        expect(await namesIn(place.disk, folder, marker)).toEqual([]);
        const again = await clear(queue, 'restart-log', { operationId });
        expect(again).toMatchObject({ isNew: false });
        await apply(queue, 2);
        expect(await seen(queue)).toEqual(['r0', 'r1']);
        await assertBooks(queue, { accepted: 8, applied: 2, dead: 1 });
      }));
});

describe('a daemon that ends while it passes dead records', () => {
  it('leaves them dead ahead at reconcile:before-commit, and passes them again (C13, ING-704)', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('s', 0, 3));
      await first.close();
      const before = await readText(place.disk, offsetPath);
      const second = await place.open();
      const one = item((await second.readBatch(key, { records: 1, bytes: 1e6 })).items);
      await second.deadLetter(key, [letterFor(one)], one.after, cursorAt(0));
      await second.close();
      await edit(place.disk, offsetPath, () => Buffer.from(before));
      for (const path of await segmentPaths(place.disk)) await place.disk.unlink(path);
      const third = await place.open();
      const queue = await endsAt(place, 'reconcile:before-commit', () => third.reconcileDead(key));
      expect(await queue.readDeadLetters(key)).toHaveLength(1);
      expect(await pendingNumbers(queue)).toEqual([1, 2]);
      expect(await queue.reconcileDead(key), 'nothing is left to do').toBe(0);
      await assertBooks(queue, { accepted: 3, dead: 1, pending: 2 });
    }));
});
