import { describe, expect, it } from 'vitest';
import { assert } from '#base';
import {
  failingDisk,
  memoryDisk,
  platformError,
  type Disk,
  type DiskFile,
  type DiskSpace,
} from '#disk';
import type { QueueTrouble } from '#queue';
import {
  append,
  assertBooks,
  drain,
  isPending,
  kill,
  numbered,
  pendingNumbers,
} from '../../contract/queue/steps.ts';
import { queueDirectory } from '../../support/filesystem-queue.ts';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import { turn } from '../../support/turn.ts';
import { withPlace } from './place.ts';

const always = Number.POSITIVE_INFINITY;
const changing = ['writeAt', 'sync', 'rename', 'makeDirectory', 'syncDirectory'] as const;
const wordsOf: Readonly<Record<string, string>> = {
  ENOSPC: 'the file system is full (ENOSPC)',
  EDQUOT: 'the disk quota of this user is used up (EDQUOT)',
  EIO: 'the device fails (EIO)',
  EROFS: 'the file system is mounted read-only (EROFS)',
  EMFILE: 'this process has no file descriptor left (EMFILE)',
};

/** One line that says which file system, what fails since when, what it means and what to do. */
function expectWords(trouble: QueueTrouble | undefined, words: string, sinceMs: number): void {
  assert(trouble !== undefined, 'the trouble is told');
  expect(trouble.message).toContain(words);
  expect(trouble.message).toContain('heals by itself');
  expect(trouble.message).not.toContain('\n');
  expect(trouble.message).not.toContain('/');
  expect(trouble.place).toBe(queueDirectory);
  expect(Date.parse(trouble.since)).toBe(sinceMs);
}

describe('a journal that cannot be written', () => {
  for (const [code, words] of Object.entries(wordsOf))
    it(`by ${code} refuses appends in words, acknowledges nothing, and heals by itself (P1, QFS-31)`, () =>
      withPlace(async (place) => {
        const disk = failingDisk(place.disk);
        const queue = await place.open({ disk });
        await append(queue, ...numbered('s', 0, 1));
        const since = place.clock.now();
        disk.plan([{ code, path: /\.wal$|journal$/, times: always }]);
        await expect(queue.append(numbered('s', 1, 1))).rejects.toMatchObject({
          code: 'QUEUE_WRITE_FAILED',
          disposition: 'retry',
          message: expect.stringContaining(words) as unknown,
        });
        await place.clock.advance(60_000);
        const [trouble, ...others] = queue.trouble();
        expectWords(trouble, words, since);
        expect(trouble?.isRefusing).toBe(true);
        expect(others).toEqual([]);
        disk.heal();
        await place.clock.advance(3_000);
        expect(queue.trouble()).toEqual([]);
        await append(queue, ...numbered('s', 2, 1));
        expect(await pendingNumbers(queue)).toEqual([0, 2]);
        await assertBooks(queue, { accepted: 2, pending: 2 });
      }));

  it('because the disk does not answer takes no more, and keeps what it has when the disk comes back (P1, P9)', () =>
    withPlace(async (place) => {
      const { disk, hold } = holdingDisk(place.disk, /\.wal$/);
      const queue = await place.open({ disk });
      await append(queue, ...numbered('s', 0, 1));
      const letGo = hold();
      const waiting = queue.append(numbered('s', 1, 1));
      await isPending(waiting);
      await place.clock.advance(9_000);
      expect(queue.trouble()).toEqual([]);
      await place.clock.advance(2_000);
      const [trouble] = queue.trouble();
      expectWords(trouble, 'the disk has not answered', place.clock.now() - 11_000);
      expect(trouble?.isRefusing).toBe(true);
      await expect(queue.append(numbered('s', 2, 1))).rejects.toMatchObject({
        code: 'QUEUE_WRITE_FAILED',
      });
      expect(await isPending(waiting), 'nobody knows yet').toBe(true);
      letGo();
      expect((await waiting)[0]?.status).toBe('queued');
      expect(queue.trouble()).toEqual([]);
      await append(queue, ...numbered('s', 3, 1));
      expect(await pendingNumbers(queue)).toEqual([0, 1, 3]);
    }));
});

describe('session files that cannot be written', () => {
  for (const code of Object.keys(wordsOf))
    it(`by ${code} are told and refuse no append, and are brought up afterwards (P1, P7)`, () =>
      withPlace(async (place) => {
        const disk = failingDisk(place.disk);
        const queue = await place.open({ disk });
        await append(queue, ...numbered('s', 0, 2));
        await kill(queue);
        disk.plan([{ code, calls: changing, path: /sessions/, times: always }]);
        await append(queue, ...numbered('s', 2, 1));
        await append(queue, ...numbered('t', 0, 1));
        await place.clock.advance(1_000);
        await queue.checkpoint();
        const troubles = queue.trouble();
        expect(troubles.length).toBeGreaterThan(0);
        for (const { isRefusing, message } of troubles) {
          expect(isRefusing).toBe(false);
          expect(message).toContain(wordsOf[code]);
          expect(message).toContain('in the journal');
        }
        await append(queue, ...numbered('t', 1, 1));
        disk.heal();
        await place.clock.advance(1_000);
        await queue.checkpoint();
        expect(queue.trouble()).toEqual([]);
        expect(await pendingNumbers(queue)).toEqual([1, 2]);
        expect(await pendingNumbers(queue, 't')).toEqual([0, 1]);
        await queue.close();
        const again = await place.open();
        expect(await again.readDeadLetters(testKey())).toHaveLength(1);
        expect(await pendingNumbers(again, 't')).toEqual([0, 1]);
        await assertBooks(again, { accepted: 5, pending: 4, dead: 1 });
      }));
});

describe('the reserve', () => {
  it('is told while it is touched, keeps the daemon from being ready, and is well again without a restart (QFS-30)', () =>
    withPlace(async (place) => {
      let freeBytes = 10 * 2 ** 20;
      const disk: Disk = {
        ...place.disk,
        space: async () => ({ freeBytes, totalBytes: 100 * 2 ** 20 }),
      };
      const queue = await place.open({ disk, limits: { reserveBytes: 2 ** 20 } });
      await append(queue, ...numbered('s', 0, 1));
      expect(queue.trouble()).toEqual([]);
      freeBytes = 2 ** 19;
      await place.clock.advance(1_000);
      const since = place.clock.now();
      queue.trouble();
      await turn();
      expectWords(queue.trouble()[0], '512 KiB are free', since);
      expect(queue.trouble()[0]).toMatchObject({ code: 'DISK_FULL', isRefusing: true });
      await expect(queue.append(numbered('s', 1, 1))).rejects.toMatchObject({ code: 'DISK_FULL' });
      await drain(queue);
      freeBytes = 10 * 2 ** 20;
      await place.clock.advance(1_000);
      queue.trouble();
      await turn();
      expect(queue.trouble()).toEqual([]);
      await append(queue, ...numbered('s', 2, 1));
    }));

  it('is looked at as often as it is being eaten, and is no place for spare or whole segments (SC-029, QFS-30)', () =>
    withPlace(async (place) => {
      const reserveBytes = 2 ** 20;
      let freeBytes = 64 * 2 ** 20;
      let looks = 0;
      const space = async (): Promise<DiskSpace> => {
        looks += 1;
        return { freeBytes, totalBytes: 128 * 2 ** 20 };
      };
      place.disk = { ...place.disk, space };
      const queue = await place.open({ limits: { reserveBytes, segmentBytes: 2 ** 20 } });
      const text = 'x'.repeat(20_000);
      const before = looks;
      for (let n = 0; n < 50; n += 1) await append(queue, testRecord({ data: { n, text } }));
      expect(looks - before).toBe(0);
      await drain(queue);
      freeBytes = 3 * 2 ** 20;
      await place.clock.advance(600);
      for (let n = 50; n < 70; n += 1) await append(queue, testRecord({ data: { n, text } }));
      // No time has passed on this clock: it was what the appends took that asked for these.
      expect(looks - before).toBeGreaterThan(2);
      await drain(queue);
      const segments = () => place.disk.readDirectory(`${queueDirectory}/journal`);
      expect((await segments()).length).toBeGreaterThan(1);
      freeBytes = 1.5 * 2 ** 20;
      await place.clock.advance(1_000);
      await queue.checkpoint();
      expect(await segments()).toHaveLength(1);
    }));

  it('serves a commit, a dead letter and a discard also where no whole segment has room any more (SC-029, QFS-30)', () =>
    withPlace(async (place) => {
      place.disk = memoryDisk({ directories: ['/root'], totalBytes: 600 * 1024 });
      const queue = await place.open();
      const text = 'x'.repeat(20_000);
      for (let n = 0; n < 6; n += 1) await append(queue, testRecord({ data: { n, text } }));
      await place.clock.advance(1_000);
      await fillUp(place.disk, 50 * 1024);
      await kill(queue);
      for (let n = 1; n < 6; n += 1) await drain(queue, 's', 1);
      await assertBooks(queue, { accepted: 6, applied: 5, pending: 0, dead: 1 });
      expect(queue.trouble()).toEqual([]);
    }));

  it('takes segments that suit a small file system: an eighth of it for a journal of four (QFS-05, QFS-30)', () =>
    withPlace(async (place) => {
      place.disk = memoryDisk({ directories: ['/root'], totalBytes: 64 * 2 ** 20 });
      const queue = await place.open({ limits: { segmentBytes: 64 * 2 ** 20 } });
      await append(queue, ...numbered('s', 0, 1));
      for (const { name } of await place.disk.readDirectory(`${queueDirectory}/journal`))
        expect((await place.disk.stat(`${queueDirectory}/journal/${name}`))?.size).toBe(
          2 * 2 ** 20,
        );
    }));
});

describe('a process with few file descriptors', () => {
  it('gives handles of session logs back and goes on with fewer (QFS-15, EMFILE)', () =>
    withPlace(async (place) => {
      const { disk, open } = limitedDisk(place.disk, 40);
      const queue = await place.open({ disk });
      for (let at = 0; at < 120; at += 1) await append(queue, ...numbered(`s${at}`, 0, 2));
      await place.clock.advance(1_000);
      await queue.checkpoint();
      expect(open.mostAtOnce).toBe(40);
      expect(queue.trouble()).toEqual([]);
      for (let at = 0; at < 120; at += 1)
        expect(await pendingNumbers(queue, `s${at}`)).toEqual([0, 1]);
    }));
});

/** A disk whose syncs of matching files wait between `hold()` and the call of what it returns. */
function holdingDisk(inner: Disk, path: RegExp): { disk: Disk; hold: () => () => void } {
  let held: Promise<void> | undefined;
  return {
    disk: {
      ...inner,
      async open(...order) {
        const file = await inner.open(...order);
        const sync = async (): Promise<void> => {
          if (path.test(file.path)) await held;
          await file.sync();
        };
        return { ...file, path: file.path, sync };
      },
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = undefined;
        resolve();
      };
    },
  };
}

/** A disk on which no more than `most` files can be open. */
function limitedDisk(inner: Disk, most: number): { disk: Disk; open: { mostAtOnce: number } } {
  const open = { now: 0, mostAtOnce: 0 };
  return {
    open,
    disk: {
      ...inner,
      async open(path, mode): Promise<DiskFile> {
        if (open.now >= most) throw platformError('EMFILE', 'open', path);
        open.now += 1;
        open.mostAtOnce = Math.max(open.mostAtOnce, open.now);
        const file = await inner.open(path, mode).catch((error: unknown) => {
          open.now -= 1;
          throw error;
        });
        const close = (): Promise<void> => {
          open.now -= 1;
          return file.close();
        };
        return { ...file, path: file.path, close };
      },
    },
  };
}

/** Another program fills the file system until `left` bytes are free. */
async function fillUp(disk: Disk, left: number): Promise<void> {
  const { freeBytes } = await disk.space('/root');
  const file = await disk.open('/root/foreign', 'create');
  await file.writeAt([Buffer.alloc(freeBytes - left)], 0);
  await file.close();
}
