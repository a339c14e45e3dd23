import { describe, expect, it } from 'vitest';
import { recovered, type Recovered } from '#signals';
import { memoryState } from '#state';
import {
  append,
  assertBooks,
  discard,
  drain,
  kill,
  numbered,
  pendingNumbers,
  statuses,
  statusOf,
} from '../../contract/queue/steps.ts';
import { scanJournal } from '../../../queue-backends/filesystem/recovery/recovery-scan.ts';
import { queueDirectory } from '../../support/filesystem-queue.ts';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import { edit, flipAt, namesIn, segmentPaths, withPlace, type Place } from './place.ts';

const journal = `${queueDirectory}/journal`;

async function onlySegment(place: Place): Promise<string> {
  const paths = await segmentPaths(place.disk);
  const newest = paths.at(-1);
  if (newest === undefined) throw new Error('there is no segment');
  return newest;
}

async function openTold(place: Place): Promise<{
  queue: Awaited<ReturnType<Place['open']>>;
  told: Recovered;
}> {
  const messages: Recovered[] = [];
  const end = recovered.subscribe((message) => messages.push(message));
  const queue = await place.open();
  end();
  const [told] = messages;
  if (told === undefined) throw new Error('recovery says what it did');
  return { queue, told };
}

describe('damage in the journal', () => {
  it('by an older copy that was put back: what session files hold beyond it is drained, and the books are counted anew (P1, P2, P4)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 3));
      await append(queue, ...numbered('t', 0, 1));
      await drain(queue, 's', 1);
      const path = await onlySegment(place);
      const older = Buffer.from((await place.disk.readFile(path)) ?? []);
      await append(queue, ...numbered('s', 3, 2));
      await queue.checkpoint();
      await place.kill();
      await edit(place.disk, path, () => older);
      const again = await place.open();
      expect(await pendingNumbers(again, 's')).toEqual([1, 2, 3, 4]);
      await assertBooks(again, { accepted: 6, applied: 1, pending: 5 });
      await append(again, ...numbered('s', 5, 1));
      await drain(again, 's');
      await drain(again, 't');
      await assertBooks(again, { accepted: 7, applied: 7, pending: 0 });
      await again.close();
      const once = await place.open();
      await assertBooks(once, { accepted: 7, applied: 7, pending: 0 });
    }));

  it('between frames that were known synced is kept, and stops the keys that it names alone (P7, QFS-06)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 1));
      await append(queue, ...numbered('t', 0, 1));
      await append(queue, ...numbered('u', 0, 1));
      await append(queue, ...numbered('u', 1, 1));
      await place.kill();
      await edit(place.disk, await onlySegment(place), (bytes) => flipAt(bytes, '"sid":"t"'));
      const { queue: again, told } = await openTold(place);
      expect(told.damagedRanges).toBe(1);
      expect(await namesIn(place.disk, journal, /\.corrupt\.bin$/)).toHaveLength(1);
      expect(await pendingNumbers(again, 's')).toEqual([0]);
      expect(await pendingNumbers(again, 'u')).toEqual([0, 1]);
      const totals = again.totals();
      expect(totals.accepted - totals.applied - totals.pending).toBe(0);
    }));

  it('shows as a hole in the positions of a key that goes on behind it (P2, P7)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      for (let n = 0; n < 4; n += 1) await append(queue, ...numbered('s', n, 1));
      await append(queue, ...numbered('t', 0, 1));
      await place.kill();
      await edit(place.disk, await onlySegment(place), (bytes) => flipAt(bytes, '"n":1'));
      const { queue: again } = await openTold(place);
      expect((await statusOf(again, testKey())).quarantine?.code).toBe('RECORD_CORRUPT');
      expect(await pendingNumbers(again, 't')).toEqual([0]);
      await place.kill();
      const third = await place.open();
      expect((await statusOf(third, testKey())).quarantine?.code).toBe('RECORD_CORRUPT');
    }));

  it('in the last group is a torn tail: cut, kept and reported, and its place is given anew (P2, QFS-06)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 1));
      const last = await append(queue, ...numbered('s', 1, 1));
      await place.kill();
      await edit(place.disk, await onlySegment(place), (bytes) => flipAt(bytes, '"n":1'));
      const { queue: again, told } = await openTold(place);
      expect(told.damagedRanges).toBe(0);
      expect(told.tornBytes).toBeGreaterThan(0);
      expect(await namesIn(place.disk, journal, /\.torn\.bin$/)).toHaveLength(1);
      expect(await pendingNumbers(again)).toEqual([0]);
      expect(await append(again, ...numbered('s', 2, 1))).toEqual(last);
      await assertBooks(again, { accepted: 2 });
      await place.kill();
      const third = await place.open();
      expect(await pendingNumbers(third)).toEqual([0, 2]);
    }));

  it('drops the frames of a group whose rest is missing, with the group (QFS-06, C32)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 1));
      const before = await scanJournal(place.disk, journal);
      await Promise.all([1, 2, 3].map((n) => append(queue, ...numbered('s', n, 1))));
      await place.kill();
      const path = await onlySegment(place);
      const whole = await scanJournal(place.disk, journal);
      expect(whole.lastSequence).toBe(before.lastSequence + 3);
      const third = whole.places.at(-1)?.at ?? 0;
      await edit(place.disk, path, (bytes) => {
        const cut = Buffer.from(bytes);
        cut.fill(0, third);
        return cut;
      });
      expect((await scanJournal(place.disk, journal)).lastSequence).toBe(before.lastSequence);
      expect(await pendingNumbers(await place.open())).toEqual([0]);
    }));

  it('of a lost COMMIT leaves books that come to rest (P4)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 3));
      await drain(queue, 's', 1);
      await drain(queue, 's', 1);
      await append(queue, ...numbered('t', 0, 1));
      await place.kill();
      await edit(place.disk, await onlySegment(place), (bytes) => {
        const first = bytes.indexOf('"n":1,"seq":1');
        return flipAt(bytes, '"cursor"', first);
      });
      const again = await place.open();
      expect(await statusOf(again, testKey())).toMatchObject({
        pending: 1,
        accepted: 3,
        applied: 2,
      });
      await assertBooks(again, { accepted: 4, applied: 2, pending: 2 });
    }));
});

describe('a journal that is gone', () => {
  it('leaves session files that are a consistent older state (QFS-13)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, testRecord({ eventId: 'e0', data: { n: 0 } }), ...numbered('s', 1, 3));
      await append(queue, ...numbered('t', 0, 2));
      await drain(queue, 's', 2);
      await drain(queue, 't', 2);
      await queue.checkpoint();
      await append(queue, ...numbered('s', 4, 1));
      await place.clock.advance(500);
      await place.kill();
      for (const path of await segmentPaths(place.disk)) await place.disk.unlink(path);
      const again = await place.open();
      expect(await pendingNumbers(again)).toEqual([2, 3, 4]);
      await assertBooks(again, { accepted: 7, applied: 4, pending: 3 });
      expect(again.totals().knownKeys).toBe(2);
      expect(await again.activeKeys()).toEqual([testKey()]);
      const resent = testRecord({ eventId: 'e0', data: { n: 0 } });
      expect(await statuses(again, [resent])).toEqual(['duplicate']);
      await append(again, ...numbered('s', 5, 1));
      await append(again, ...numbered('t', 2, 1));
      await place.kill();
      const third = await place.open();
      expect(await pendingNumbers(third), 'sequences begin again, and count').toEqual([2, 3, 4, 5]);
      expect(await pendingNumbers(third, 't')).toEqual([2]);
      await assertBooks(third, { accepted: 9, applied: 4 });
    }));
});

describe('a state store that is gone', () => {
  it('is filled again from the logs before a key takes events (ING-513, ING-515)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      const live = testRecord({ eventId: 'live', data: { n: 1 } });
      const dead = testRecord({ eventId: 'dead', data: { n: 2 } });
      const gone = testRecord({ eventId: 'gone', data: { n: 3 } });
      await append(queue, dead, gone, live);
      await kill(queue);
      await discard(queue, await kill(queue));
      await drain(queue);
      await queue.close();
      place.state = memoryState();
      const again = await place.open();
      expect(await statuses(again, [live])).toEqual(['duplicate']);
      expect(await statuses(again, [dead])).toEqual(['queued']);
      expect(await statuses(again, [gone])).toEqual(['queued']);
      await assertBooks(again, { accepted: 4, applied: 1, dead: 0, discarded: 1, pending: 2 });
      const outcomes = (await again.readDeadLetters(testKey())).map(({ outcome }) => outcome.kind);
      expect(outcomes).toEqual(['requeued', 'discarded']);
    }));
});

describe('a new tenure', () => {
  it('begins a segment of its own, reads the older ones, and lets them go after its checkpoint (QFS-40, C43)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 2));
      await place.kill();
      const again = await place.open();
      const names = await namesIn(place.disk, journal, /\.wal$/);
      expect(names).toEqual(['0000000002-0000000000.wal']);
      expect(await pendingNumbers(again)).toEqual([0, 1]);
    }));

  it('passes over a segment that was made and never written (C42)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 2));
      await place.kill();
      await edit(place.disk, `${journal}/0000000002-0000000000.wal`, () => Buffer.alloc(4096));
      place.generation = 2;
      const again = await place.open();
      expect(await pendingNumbers(again)).toEqual([0, 1]);
      expect(await namesIn(place.disk, journal, /\.wal$/)).toEqual(['0000000003-0000000000.wal']);
    }));

  it('does not read what an older one wrote after it began (P6, QFS-40)', () =>
    withPlace(async (place) => {
      const old = await place.open();
      await append(old, ...numbered('s', 0, 1));
      const next = await place.open();
      await append(old, ...numbered('s', 77, 1)).catch(() => undefined);
      await append(next, ...numbered('s', 1, 1));
      await place.kill();
      const third = await place.open();
      expect(await pendingNumbers(third)).toEqual([0, 1]);
      await assertBooks(third, { accepted: 2 });
    }));
});

describe('the work of a start', () => {
  it('follows the journal and the active keys, not the keys ever known (QFS-20, ING-821)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      const sessions = Array.from({ length: 200 }, (_, at) => `idle-${at}`);
      for (const session of sessions) {
        await append(queue, ...numbered(session, 0, 1));
        await drain(queue, session);
      }
      await append(queue, ...numbered('busy', 0, 1));
      await queue.close();
      const read: string[] = [];
      const disk = {
        ...place.disk,
        readFile: (path: string) => (read.push(path), place.disk.readFile(path)),
      };
      const again = await place.open({ disk });
      expect(read.filter((path) => path.includes('idle-'))).toEqual([]);
      expect(await again.activeKeys()).toEqual([testKey('busy')]);
      await assertBooks(again, { accepted: 201, applied: 200, pending: 1 });
      expect(again.totals().knownKeys).toBe(201);
      const [position] = await append(again, ...numbered('idle-7', 1, 1));
      expect(position?.startsWith('00000000.')).toBe(true);
      expect(await pendingNumbers(again, 'idle-7')).toEqual([1]);
    }));

  it('reads no segment below the mark, and little after a stop in order (QFS-20)', () =>
    withPlace(async (place) => {
      const limits = { segmentBytes: 16 * 1024 };
      const queue = await place.open({ limits });
      for (let n = 0; n < 40; n += 1)
        await append(queue, testRecord({ data: { n, text: 'x'.repeat(2_000) } }));
      await queue.checkpoint();
      await append(queue, ...numbered('s', 40, 1));
      await place.kill();
      const there = (await segmentPaths(place.disk)).length;
      const read: string[] = [];
      const readFile = (path: string): ReturnType<typeof place.disk.readFile> => {
        if (path.endsWith('.wal')) read.push(path);
        return place.disk.readFile(path);
      };
      const again = await place.open({ disk: { ...place.disk, readFile }, limits });
      expect(there).toBeGreaterThan(3);
      expect(new Set(read).size).toBe(1);
      expect(await pendingNumbers(again)).toHaveLength(41);
      await again.close();
      const [last = '', ...others] = await segmentPaths(place.disk);
      expect(others).toEqual([]);
      expect((await place.disk.stat(last))?.size).toBeLessThan(2_000);
    }));

  it('leaves nothing to replay after a stop in order (ING-825)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 20));
      await drain(queue, 's', 7);
      await queue.close();
      const { told } = await openTold(place);
      expect(told).toMatchObject({ keys: 0, tornBytes: 0, damagedRanges: 0 });
    }));
});
