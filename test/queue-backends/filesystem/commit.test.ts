import { describe, expect, it } from 'vitest';
import { failingDisk } from '#disk';
import type { Cursor } from '#record';
import {
  append,
  assertBooks,
  cursorAt,
  discard,
  drain,
  kill,
  letterFor,
  numbered,
  pendingNumbers,
  statuses,
} from '../../contract/queue/steps.ts';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import { withPlace } from './place.ts';

const key = testKey();

/** The same value with its members in another order. */
function reordered(cursor: Cursor): Cursor {
  return Object.fromEntries(Object.entries(cursor).toReversed()) as unknown as Cursor;
}

describe('a session of many dead letters', () => {
  it('has its letters read once, not for each letter more, and takes none twice (ING-718)', () =>
    withPlace(async (place) => {
      const { disk } = place;
      let reads = 0;
      place.disk = {
        ...disk,
        readFile(path) {
          if (path.endsWith('dead.jsonl')) reads += 1;
          return disk.readFile(path);
        },
      };
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 60));
      const bury = async (): Promise<void> => {
        const { items } = await queue.readBatch(key, { records: 1, bytes: 1 });
        const [one] = items;
        if (one === undefined) throw new Error('a record is left');
        await queue.deadLetter(key, [letterFor(one)], one.after, cursorAt(0));
      };
      await bury();
      await queue.checkpoint();
      const before = reads;
      for (let n = 1; n < 60; n += 1) await bury();
      expect(reads - before).toBeLessThan(5);
      await assertBooks(queue, { accepted: 60, dead: 60, pending: 0 });
      await queue.checkpoint();
      const letters = await queue.readDeadLetters(key);
      expect(new Set(letters.map(({ id }) => id)).size).toBe(60);
    }));
});

describe('a commit at the committed position', () => {
  it('is done already with an equal cursor, whatever the order of its members (ING-210)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 2));
      const { after } = await drain(queue, 's', 1);
      await queue.commit(key, after, reordered(cursorAt(1)), null);
      await assertBooks(queue, { applied: 1, pending: 1 });
    }));

  it('is a conflict with another cursor, with letters or without (ING-210)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 2));
      const letter = await kill(queue);
      const { committed } = (await queue.keyStatus(key)) ?? {};
      if (committed === undefined) throw new Error('the key is known');
      const other = cursorAt(7);
      await expect(queue.commit(key, committed, other, null)).rejects.toMatchObject({
        code: 'COMMIT_CONFLICT',
      });
      const discards = [{ discarded: letter, by: 'operator' }];
      await expect(queue.deadLetter(key, discards, committed, other)).rejects.toMatchObject({
        code: 'COMMIT_CONFLICT',
      });
      await discard(queue, letter);
      await assertBooks(queue, { dead: 0, discarded: 1 });
    }));
});

describe('a requeue', () => {
  it('is refused while another of the same letter is on its way, and while a discard is (ING-714)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 2));
      const [a, b] = [await kill(queue), await kill(queue)];
      const requeue = (settles: string, eventId: string): Promise<unknown> =>
        queue.append([testRecord({ data: { n: 9 }, settles, eventId })]);
      const twice = await Promise.allSettled([requeue(a, 'r1'), requeue(a, 'r2')]);
      expect(twice.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      const both = await Promise.allSettled([discard(queue, b), requeue(b, 'r3')]);
      expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      await assertBooks(queue, { dead: 0 });
      const outcomes = (await queue.readDeadLetters(key)).map(({ outcome }) => outcome.kind);
      expect(outcomes).not.toContain('live');
    }));

  it('is refused for a key that is stopped (ING-715)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 2));
      const letter = await kill(queue);
      await queue.quarantine(key, { code: 'CURSOR_CORRUPT', message: 'it cannot be built' });
      await expect(
        queue.append([testRecord({ data: { n: 0 }, settles: letter })]),
      ).rejects.toMatchObject({ code: 'SESSION_QUARANTINED' });
      await assertBooks(queue, { dead: 1, pending: 1 });
    }));
});

describe('what a failed append had taken in hand', () => {
  it('goes back: the owner of a key that never opened, its ids, and duplicates that it would have carried', () =>
    withPlace(async (place) => {
      const disk = failingDisk(place.disk);
      const queue = await place.open({ disk });
      await append(queue, testRecord({ eventId: 'known', data: { n: 0 } }));
      disk.plan([{ code: 'EIO', calls: ['sync'], path: /\.wal$/ }]);
      const known = testRecord({ eventId: 'known', data: { n: 0 } });
      const fresh = testRecord({ session: 'new', eventId: 'fresh', principal: 'first' });
      await expect(queue.append([known, fresh])).rejects.toMatchObject({
        code: 'QUEUE_WRITE_FAILED',
      });
      await place.clock.advance(1_000);
      expect(queue.totals().duplicates).toBe(0);
      const other = testRecord({ session: 'new', eventId: 'fresh', principal: 'second' });
      expect(await statuses(queue, [known, other])).toEqual(['duplicate', 'queued']);
      await assertBooks(queue, { accepted: 2 });
      expect(queue.totals().duplicates).toBe(1);
      expect((await queue.keyStatus(testKey('new')))?.owner).toBe('second');
    }));
});

describe('duplicates', () => {
  it('are counted once over crashes and checkpoints, alone in a frame where no other takes them (ING-717)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      const record = testRecord({ eventId: 'e', data: { n: 0 } });
      await append(queue, record);
      await append(queue, ...numbered('t', 0, 1));
      for (let round = 1; round <= 3; round += 1) {
        expect(await statuses(queue, [record, record])).toEqual(['duplicate', 'duplicate']);
        await queue.checkpoint();
        await place.kill();
        queue = await place.open();
        await assertBooks(queue, { accepted: 2 });
        expect(queue.totals().duplicates).toBe(round * 2);
        expect(await queue.keyStatus(key)).toMatchObject({ duplicates: round * 2 });
      }
      expect(await pendingNumbers(queue)).toEqual([0]);
    }));

  it('of a large request are all looked at, however many they are (ING-512)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      const records = Array.from({ length: 500 }, (_, n) =>
        testRecord({ eventId: `e${n}`, data: { n } }),
      );
      await append(queue, ...records);
      expect(new Set(await statuses(queue, records))).toEqual(new Set(['duplicate']));
      const changed = records.map((_, n) => testRecord({ eventId: `e${n}`, data: { n: n + 1 } }));
      expect(new Set(await statuses(queue, changed))).toEqual(new Set(['conflict']));
    }));
});
