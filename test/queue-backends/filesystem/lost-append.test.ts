import { describe, expect, it } from 'vitest';
import {
  append,
  assertBooks,
  numbered,
  pendingNumbers,
  statuses,
  statusOf,
} from '../../contract/queue/steps.ts';
import { testKey, testRecord, testWorkspace } from '../../support/queue-fixtures.ts';
import { edit, flipAt, folderOf, segmentPaths, withPlace, type Place } from './place.ts';
import { apply, clear, cursorOf, everAfter, key } from './stopped-key.ts';

const lost = [3, 4].map((n) => testRecord({ eventId: `e${n}`, data: { n } }));

/** Three applied records in the session files; two more that only the journal holds, whose frame is damaged while their commit is not. */
async function withoutFrame(place: Place): Promise<void> {
  const first = await place.open();
  await append(first, ...numbered('s', 0, 3));
  await apply(first, 3);
  await first.checkpoint();
  await append(first, ...lost);
  await apply(first, 2);
  await append(first, ...numbered('t', 0, 1));
  await place.kill();
  for (const path of await segmentPaths(place.disk))
    await edit(place.disk, path, (bytes) =>
      bytes.includes('"n":4') ? flipAt(bytes, '"n":4') : bytes,
    );
}

describe('a frame of records that is lost while their commit is not', () => {
  it('leaves their place and their count, and stops the key until somebody says keep (P2, P4, P7, QFS-06)', () =>
    withPlace(async (place) => {
      await withoutFrame(place);
      const queue = await place.open();
      const { committed, end, pending, quarantine } = await statusOf(queue, key);
      expect(quarantine?.code).toBe('RECORD_CORRUPT');
      expect(end).toBe(committed);
      expect(pending).toBe(0);
      await assertBooks(queue, { accepted: 6, applied: 5, pending: 1 });
      await clear(queue, 'keep');
      const [next] = await append(queue, ...numbered('s', 5, 1));
      expect((next ?? '') >= end, 'no position is given twice').toBe(true);
      await everAfter(place, queue, async (open) => {
        expect(await pendingNumbers(open)).toEqual([5]);
        await assertBooks(open, { accepted: 7, applied: 5, pending: 2 });
        expect((await statusOf(open, key)).quarantine).toBeNull();
      });
      const last = await place.open();
      await apply(last, 1);
      expect(await last.readCursor(key)).toEqual(cursorOf(0, 1, 2, 3, 4, 5));
      expect(await statuses(last, lost)).toHaveLength(2);
      expect((await statusOf(last, key)).quarantine).toBeNull();
    }));
});

describe('a session whose first frame is lost', () => {
  it('is stopped by its name, which its records tell, so that it can be asked for and cleared (P7, ING-412)', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('s', 0, 1));
      await append(first, ...numbered('s', 1, 2));
      await append(first, ...numbered('t', 0, 1));
      await place.kill();
      for (const path of await segmentPaths(place.disk))
        await edit(place.disk, path, (bytes) =>
          bytes.includes('"n":0') ? flipAt(bytes, '"n":0') : bytes,
        );
      const queue = await place.open();
      const { workspace, session, quarantine } = await statusOf(queue, key);
      expect(quarantine?.code).toBe('RECORD_CORRUPT');
      expect({ workspace, session }).toEqual({ workspace: testWorkspace, session: 's' });
      expect(await queue.showQuarantine(key)).toMatchObject({ session: 's' });
    }));
});

describe('a log of another session or time in the place of its own', () => {
  it('has no event refused that is known by its id (ING-515, ING-517)', () =>
    withPlace(async (place) => {
      const first = await place.open();
      const sent = testRecord({ session: 's', eventId: 'e0', data: { n: 1 } });
      await append(first, sent, testRecord({ session: 't', eventId: 'f0', data: { n: 2 } }));
      await apply(first, 1);
      await apply(first, 1, 't');
      await first.close();
      const foreign = await place.disk.readFile(`${folderOf(testKey('t'))}/log.000000.jsonl`);
      await edit(place.disk, `${folderOf()}/log.000000.jsonl`, () => Buffer.from(foreign ?? []));
      const queue = await place.open();
      expect((await queue.append([sent])).map(({ status }) => status)).toEqual(['duplicate']);
      const other = testRecord({ session: 't', eventId: 'f0', data: { n: 3 } });
      expect((await queue.append([other])).map(({ status }) => status)).toEqual(['conflict']);
    }));
});
