import { describe, expect, it } from 'vitest';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import {
  append,
  assertBooks,
  numbered,
  pendingNumbers,
  statuses,
  statusOf,
} from '../../contract/queue/steps.ts';
import { testRecord } from '../../support/queue-fixtures.ts';
import { edit, flipAt, namesIn, readText, withPlace, type Place } from './place.ts';
import {
  apply,
  clear,
  cursorOf,
  everAfter,
  folder,
  key,
  offsetPath,
  seen,
  settled,
} from './stopped-key.ts';

const second = `${folder}/generation.000001.json`;
const secondLog = `${folder}/log.000001.jsonl`;

/** A compacted key: two applied and one dead are gone from its log, three wait. */
async function compacted(place: Place): Promise<void> {
  await settled(place);
  const queue = await place.open();
  await queue.readBatch(key, { records: 1, bytes: 1e6 });
  await queue.lifeCycle.compactCommittedPrefix(key, 1);
  await queue.close();
}

async function waysOf(queue: FilesystemQueue): Promise<readonly string[]> {
  const view = await queue.showQuarantine(key);
  return view?.ways.filter(({ applies }) => applies).map(({ mode }) => mode) ?? [];
}

describe('a generation file that is lost', () => {
  for (const [how, damage] of [
    ['damaged', (bytes: Buffer) => flipAt(bytes, '"epoch"')],
    ['empty', () => Buffer.alloc(0)],
  ] as const)
    it(`and was ${how} stops its key, which goes on in a generation that begins where it stood (ING-815, ING-412)`, () =>
      withPlace(async (place) => {
        await compacted(place);
        await edit(place.disk, second, damage);
        const queue = await place.open();
        expect((await statusOf(queue, key)).quarantine?.code).toBe('LOG_GENERATION_MISSING');
        expect(await waysOf(queue)).toEqual(['keep', 'skip-to-end']);
        await clear(queue, 'keep');
        expect(
          await namesIn(place.disk, folder, /^generation\.000001\.json\.corrupt\./),
        ).not.toEqual([]);
        await everAfter(place, queue, async (open) => {
          expect(await pendingNumbers(open)).toEqual([3, 4, 5]);
          expect(await seen(open)).toEqual(['r0', 'r1']);
          await assertBooks(open, { applied: 2, dead: 1, pending: 5 });
        });
        const last = await place.open();
        await apply(last, 3);
        expect(await last.readCursor(key)).toEqual(cursorOf(0, 1, 3, 4, 5));
        expect(await namesIn(place.disk, folder, /^generation\.\d+\.json$/)).toEqual([
          'generation.000002.json',
        ]);
      }));

  it('beside a damaged log is passed over in the generation that follows (C44)', () =>
    withPlace(async (place) => {
      await compacted(place);
      await edit(place.disk, second, () => Buffer.alloc(0));
      await edit(place.disk, secondLog, (bytes) => flipAt(bytes, '"n":4'));
      const queue = await place.open();
      expect(await waysOf(queue)).toEqual(['skip-to-end', 'pass-over']);
      await clear(queue, 'pass-over');
      await apply(queue, 1);
      await everAfter(place, queue, async (open) => {
        expect(await pendingNumbers(open)).toEqual([5]);
        await assertBooks(open, { applied: 3, dead: 2, pending: 3 });
      });
    }));

  it('beside a damaged offset record leaves the cursor of the row in the state store', () =>
    withPlace(async (place) => {
      await compacted(place);
      await edit(place.disk, second, () => Buffer.alloc(0));
      await edit(place.disk, offsetPath, () => Buffer.alloc(0));
      const queue = await place.open();
      await expect(clear(queue, 'keep')).rejects.toMatchObject({ code: 'CLEAR_REFUSED' });
      await expect(clear(queue, 'restart-log')).rejects.toMatchObject({ code: 'CLEAR_REFUSED' });
    }));
});

describe('damage among the records of a log that are committed', () => {
  it('is met by whoever sends one again, and is left behind by the way out (ING-412, ING-517)', () =>
    withPlace(async (place) => {
      const first = await place.open();
      const records = [0, 1, 2].map((n) => testRecord({ eventId: `e${n}`, data: { n } }));
      await append(first, ...records);
      await apply(first, 3);
      await first.close();
      await edit(place.disk, `${folder}/log.000000.jsonl`, (bytes) => Buffer.alloc(bytes.length));
      const queue = await place.open();
      expect(await statuses(queue, records)).toEqual(['duplicate', 'duplicate', 'duplicate']);
      expect((await statusOf(queue, key)).quarantine?.code).toBe('RECORD_CORRUPT');
      await clear(queue, 'keep');
      await everAfter(place, queue, async (open) => {
        expect(await statuses(open, records)).toEqual(['duplicate', 'duplicate', 'duplicate']);
        expect((await statusOf(open, key)).quarantine).toBeNull();
        await assertBooks(open, { accepted: 3, applied: 3, pending: 0 });
      });
      const last = await place.open();
      await append(last, testRecord({ data: { n: 3 } }));
      await apply(last, 1);
      expect(await last.readCursor(key)).toEqual(cursorOf(0, 1, 2, 3));
    }));
});

describe('an older offset record that was put back', () => {
  it('names a generation that is gone: it is taken for damage, and nothing is folded from a wrong place (ING-404, ING-823)', () =>
    withPlace(async (place) => {
      await settled(place);
      const old = await readText(place.disk, offsetPath);
      const queue = await place.open();
      await queue.readBatch(key, { records: 1, bytes: 1e6 });
      await queue.lifeCycle.compactCommittedPrefix(key, 1);
      await apply(queue, 1);
      await queue.close();
      await edit(place.disk, offsetPath, () => Buffer.from(old));
      const again = await place.open();
      const { quarantine } = await statusOf(again, key);
      expect(quarantine?.code).toBe('OFFSET_CORRUPT');
      expect(quarantine?.message).toContain('older copy');
      await expect(clear(again, 'restart-log')).rejects.toMatchObject({ code: 'CLEAR_REFUSED' });
      await append(again, ...numbered('s', 6, 1));
      await assertBooks(again, { accepted: 9 });
    }));
});
