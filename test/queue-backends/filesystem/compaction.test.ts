import { describe, expect, it } from 'vitest';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { parsePosition } from '#record';
import {
  append,
  assertBooks,
  assertCode,
  cursorAt,
  drain,
  item,
  kill,
  numbered,
  pendingNumbers,
  positionIn,
  readAll,
  statusOf,
} from '../../contract/queue/steps.ts';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import { folderOf, namesIn, readText, withPlace } from './place.ts';

const key = testKey();
const folder = folderOf();

function compact(
  queue: FilesystemQueue,
  minBytes = 1,
): ReturnType<FilesystemQueue['lifeCycle']['compactCommittedPrefix']> {
  return queue.lifeCycle.compactCommittedPrefix(key, minBytes);
}

interface Description {
  readonly gen: number;
  readonly base: number;
  readonly cursor: unknown;
  readonly sha256_before: string | null;
  readonly position_before: string | null;
}

describe('a compaction', () => {
  it('removes what is committed and keeps position, cursor, order and what waits (W4, ING-810, ING-811)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await append(queue, ...numbered('s', 0, 6));
      await drain(queue, 's', 4);
      const before = await statusOf(queue, key);
      const report = await compact(queue);
      expect(report).toMatchObject({ key, generation: 1 });
      expect(report.removedBytes).toBe(parsePosition(before.committed)?.offset);
      expect(await statusOf(queue, key)).toEqual(before);
      expect(await queue.readCursor(key)).toEqual(cursorAt(4));
      expect(await pendingNumbers(queue)).toEqual([4, 5]);
      expect(await namesIn(place.disk, folder, /^(log|generation)/)).toEqual([
        'generation.000001.json',
        'log.000001.jsonl',
      ]);
      const text = await readText(place.disk, `${folder}/log.000001.jsonl`);
      expect(text.length).toBe(report.keptBytes);
      await append(queue, ...numbered('s', 6, 1));
      expect(await pendingNumbers(queue)).toEqual([4, 5, 6]);
      await drain(queue);
      await assertBooks(queue, { accepted: 7, applied: 7, pending: 0 });
    }));

  it('leaves a drained key an empty generation, with cursor and digest of the record before it (ING-808, ING-815, ING-816)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      await append(queue, ...numbered('s', 0, 3));
      const { items } = await readAll(queue);
      const last = item(items, 2);
      const applied = { position: last.after, sha256: 'ab'.repeat(32) };
      await queue.commit(key, last.after, cursorAt(3), applied);
      expect(await compact(queue)).toMatchObject({ keptBytes: 0 });
      expect(await namesIn(place.disk, folder, /^log/)).toEqual([]);
      const text = await readText(place.disk, `${folder}/generation.000001.json`);
      const described = JSON.parse(text) as Description;
      expect(described).toMatchObject({
        gen: 1,
        base: parsePosition(last.after)?.offset,
        cursor: cursorAt(3),
        sha256_before: applied.sha256,
        position_before: last.after,
      });
      expect(await queue.digestEndingAt(key, last.after)).toBe(applied.sha256);
      await queue.close();
      queue = await place.open();
      expect(await statusOf(queue, key)).toMatchObject({
        committed: last.after,
        end: last.after,
        appliedMark: applied,
      });
      expect(await queue.readCursor(key)).toEqual(cursorAt(3));
      const [position] = await append(queue, ...numbered('s', 3, 1));
      expect(position).toBe(last.after);
      expect(await pendingNumbers(queue)).toEqual([3]);
    }));

  it('keeps what each id stands for: the same content is a duplicate, another a conflict (ING-517, ING-813)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      const one = testRecord({ eventId: 'e1', data: { n: 1 } });
      const derived = testRecord({ eventId: 'e2', isDerivedId: true, data: { n: 2 } });
      const positions = await append(queue, one, derived);
      await drain(queue);
      await compact(queue);
      for (const restart of [false, true]) {
        if (restart) {
          await queue.close();
          queue = await place.open();
        }
        const outcomes = await queue.append([
          one,
          testRecord({ eventId: 'e1', data: { n: 9 } }),
          testRecord({ eventId: 'e2', isDerivedId: true, data: { n: 9 } }),
        ]);
        expect(outcomes.map(({ status }) => status)).toEqual([
          'duplicate',
          'conflict',
          'duplicate',
        ]);
        expect(outcomes.map(positionIn)).toEqual([positions[0], positions[0], positions[1]]);
      }
    }));

  it('can follow another, and letters stay (ING-711)', () =>
    withPlace(async (place) => {
      let queue = await place.open();
      await append(queue, ...numbered('s', 0, 4));
      const letter = await kill(queue);
      await compact(queue);
      await queue.commit(key, item((await readAll(queue)).items, 1).after, cursorAt(2), null);
      expect(await compact(queue)).toMatchObject({ generation: 2 });
      await queue.close();
      queue = await place.open();
      expect((await queue.readDeadLetters(key)).map(({ id }) => id)).toEqual([letter]);
      expect(await pendingNumbers(queue)).toEqual([3]);
      await assertBooks(queue, { accepted: 4, applied: 2, dead: 1, pending: 1 });
    }));

  it('is refused where a precondition does not hold, and changes nothing (ING-813)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      await assertCode(compact(queue), 'COMPACTION_REFUSED', 'reject');
      await append(queue, ...numbered('s', 0, 2));
      await assertCode(compact(queue), 'COMPACTION_REFUSED', 'reject');
      await drain(queue);
      await queue.checkpoint();
      await assertCode(compact(queue, 2 ** 20), 'COMPACTION_REFUSED', 'reject');
      await queue.quarantine(key, { code: 'CURSOR_CORRUPT', message: 'it says so' });
      await assertCode(compact(queue), 'COMPACTION_REFUSED', 'reject');
      expect(await namesIn(place.disk, folder, /^generation/)).toEqual(['generation.000000.json']);
    }));
});

describe('idle logs', () => {
  const compaction = { idleMs: 60_000, minBytes: 300 };

  it('are compacted by one sweep once they were drained for long enough (QFS-14, QFS-15)', () =>
    withPlace(async (place) => {
      const queue = await place.open({ compaction });
      await append(
        queue,
        ...numbered('s', 0, 5),
        ...numbered('small', 0, 1),
        ...numbered('t', 0, 5),
      );
      for (const session of ['s', 'small', 't']) await drain(queue, session);
      await place.clock.advance(40_000);
      await append(queue, ...numbered('t', 5, 1));
      await place.clock.advance(30_000);
      const generations = async (session: string): Promise<readonly string[]> =>
        namesIn(place.disk, folderOf(testKey(session)), /^generation/);
      expect(await generations('s')).toEqual(['generation.000001.json']);
      expect(await generations('small'), 'not worth it').toEqual(['generation.000000.json']);
      expect(await generations('t'), 'used meanwhile').toEqual(['generation.000000.json']);
      await drain(queue, 't');
      await place.clock.advance(61_000);
      expect(await generations('t')).toEqual(['generation.000001.json']);
      await assertBooks(queue, { pending: 0, applied: 12 });
    }));

  it('are remembered over a restart by the mark alone (QFS-20)', () =>
    withPlace(async (place) => {
      const first = await place.open({ compaction });
      await append(first, ...numbered('s', 0, 5));
      await drain(first);
      await first.close();
      await place.open({ compaction });
      await place.clock.advance(61_000);
      expect(await namesIn(place.disk, folder, /^generation/)).toEqual(['generation.000001.json']);
    }));
});
