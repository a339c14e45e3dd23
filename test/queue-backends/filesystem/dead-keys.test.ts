import { describe, expect, it } from 'vitest';
import { failingDisk } from '#disk';
import { append, cursorAt, discard, drain, numbered } from '../../contract/queue/steps.ts';
import { queueDirectory } from '../../support/filesystem-queue.ts';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { testKey, testWorkspace } from '../../support/queue-fixtures.ts';
import { withPlace } from './place.ts';

/** The first record of a session dies, what follows is applied. */
async function die(queue: FilesystemQueue, session: string): Promise<void> {
  const key = testKey(session);
  await append(queue, ...numbered(session, 0, 3));
  const { items } = await queue.readBatch(key, { records: 1, bytes: 1024 });
  const [item] = items;
  if (item === undefined) throw new Error('there is a record');
  const error = { code: 'EVENT_CONTRADICTS', message: 'x' };
  await queue.deadLetter(
    key,
    [{ at: item.at, raw: item.raw, attempts: 1, error }],
    item.after,
    cursorAt(0),
  );
  await drain(queue, session);
}

const dead = async (queue: FilesystemQueue): Promise<readonly string[]> =>
  (await queue.listKeys({ limit: 100, state: 'dead' })).map(({ session }) => session);

describe('sessions with letters, settled ones too', () => {
  it('are found once by the names of their files; a list of settled letters reads no other session', () =>
    withPlace(async (place) => {
      const first = await place.open();
      const sessions = Array.from({ length: 40 }, (_, at) => `s${String(at).padStart(2, '0')}`);
      await append(first, ...sessions.flatMap((session) => numbered(session, 0, 1)));
      for (const session of sessions) await drain(first, session);
      await die(first, 'x');
      const [letter] = await first.readDeadLetters(testKey('x'));
      await discard(first, letter?.id ?? '', 'x');
      await first.lifeCycle.finalize(testKey('x'));
      await first.close();
      const disk = failingDisk(place.disk);
      const queue = await place.open({ disk });
      const lettered = async (): Promise<readonly string[]> =>
        (await queue.listKeys({ limit: 100, state: 'lettered' })).map(({ session }) => session);
      expect(await lettered()).toEqual(['x']);
      const calls = disk.callCount();
      expect(await lettered()).toEqual(['x']);
      expect(disk.callCount() - calls, 'the other sessions are left alone').toBeLessThan(10);
      await die(queue, 'z');
      expect(await lettered()).toEqual(['x', 'z']);
    }));
});

describe('sessions with dead letters', () => {
  it('are found once, then known by each letter and outcome; no other session is read (SC-033)', () =>
    withPlace(async (place) => {
      const first = await place.open();
      const sessions = Array.from({ length: 40 }, (_, at) => `s${String(at).padStart(2, '0')}`);
      await append(first, ...sessions.flatMap((session) => numbered(session, 0, 1)));
      for (const session of sessions) await drain(first, session);
      await die(first, 'x');
      await die(first, 'y');
      await first.close();
      const disk = failingDisk(place.disk);
      const queue = await place.open({ disk });
      expect(await dead(queue)).toEqual(['x', 'y']);
      await queue.readDeadLetters(testKey('y'));
      const calls = disk.callCount();
      expect(await dead(queue)).toEqual(['x', 'y']);
      expect(disk.callCount() - calls, 'the other sessions are left alone').toBeLessThan(10);
      await die(queue, 'z');
      expect(await dead(queue)).toEqual(['x', 'y', 'z']);
      const [letter] = await queue.readDeadLetters(testKey('x'));
      const status = await queue.keyStatus(testKey('x'));
      const cursor = await queue.readCursor(testKey('x'));
      if (letter === undefined || status === undefined || cursor === null)
        throw new Error('x has a letter');
      await queue.deadLetter(
        testKey('x'),
        [{ discarded: letter.id, by: 'test' }],
        status.committed,
        cursor,
      );
      expect(await dead(queue)).toEqual(['y', 'z']);
    }));

  it('names of both kinds lead to a session without a look at any folder', () =>
    withPlace(async (place) => {
      const inner = place.disk;
      let looks = 0;
      const readDirectory = (path: string): ReturnType<typeof inner.readDirectory> => {
        if (path === `${queueDirectory}/sessions`) looks += 1;
        return inner.readDirectory(path);
      };
      const queue = await place.open({ disk: { ...inner, readDirectory } });
      await append(queue, ...numbered('a', 0, 1), ...numbered('b', 0, 1));
      const before = looks;
      const page = { limit: 10, session: 'a', workspace: testWorkspace };
      const [found, ...more] = await queue.listKeys(page);
      expect([found?.session, more.length]).toEqual(['a', 0]);
      expect(await queue.listKeys({ ...page, afterKey: testKey('a') })).toEqual([]);
      expect(await queue.listKeys({ ...page, workspace: 'other' })).toEqual([]);
      expect(looks).toBe(before);
    }));
});

describe('records beside a dead one', () => {
  it('are those before and behind it in the log, and none where the log has gone', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      const positions = await append(queue, ...numbered('a', 0, 9));
      await queue.checkpoint();
      const numbersAt = async (at: number, count: number): Promise<unknown> => {
        const found = await queue.neighbours(testKey('a'), positions[at] ?? ('' as never), count);
        const numbers = (items: readonly { readonly raw: Uint8Array }[] = []): readonly number[] =>
          items.map(({ raw }) => (JSON.parse(Buffer.from(raw).toString()) as Line).data.n);
        return found === undefined ? undefined : [numbers(found.before), numbers(found.after)];
      };
      expect(await numbersAt(4, 3)).toEqual([
        [1, 2, 3],
        [5, 6, 7],
      ]);
      expect(await numbersAt(0, 3)).toEqual([[], [1, 2, 3]]);
      expect(await numbersAt(1, 5)).toEqual([[0], [2, 3, 4, 5, 6]]);
      expect(await numbersAt(8, 2)).toEqual([[6, 7], []]);
      await drain(queue, 'a');
      await queue.lifeCycle.compactCommittedPrefix(testKey('a'), 1);
      expect(await numbersAt(4, 3)).toBeUndefined();
      expect(await queue.neighbours(testKey('none'), 'x' as never, 3)).toBeUndefined();
    }));
});

interface Line {
  readonly data: { readonly n: number };
}
