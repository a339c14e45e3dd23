import { describe, expect, it } from 'vitest';
import { systemChance, systemClock } from '#base';
import { failingDisk, memoryDisk, nodeDisk } from '#disk';
import { journalFailed, journalSynced } from '#signals';
import {
  append,
  assertBooks,
  drain,
  kill,
  numbered,
  pendingNumbers,
} from '../../contract/queue/steps.ts';
import { bytesToDrain } from '../../../queue-backends/filesystem/space-watch.ts';
import { newKeyState } from '../../../queue-backends/filesystem/session/key-state.ts';
import { StateTable } from '../../../queue-backends/filesystem/session/state-table.ts';
import { openQueue, queueDirectory } from '../../support/filesystem-queue.ts';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import { withTemporaryDirectory } from '../../support/temporary-root.ts';
import { folderOf, namesIn, readText, withPlace } from './place.ts';

const journal = `${queueDirectory}/journal`;

describe('a full disk', () => {
  it('refuses appends while the reserve would be touched; commits and dead letters go on (P9, QFS-30)', () =>
    withPlace(async (place) => {
      place.disk = memoryDisk({ directories: ['/root'], totalBytes: 400 * 1024 });
      const queue = await place.open({ limits: { reserveBytes: 200 * 1024 } });
      const filling = async (): Promise<void> => {
        for (let n = 0; n < 40; n += 1) {
          await append(queue, testRecord({ data: { n, text: 'x'.repeat(10_000) } }));
          await place.clock.advance(600);
        }
      };
      await expect(filling()).rejects.toMatchObject({ code: 'DISK_FULL', disposition: 'retry' });
      await kill(queue);
      await drain(queue);
      await assertBooks(queue, { dead: 1, pending: 0 });
    }));

  it('keeps 5 % of a small file system free where no reserve is given (QFS-30)', () =>
    withPlace(async (place) => {
      place.disk = memoryDisk({ directories: ['/root'], totalBytes: 2 ** 20 });
      const queue = await place.open({ limits: { reserveBytes: null } });
      const filling = async (): Promise<void> => {
        for (let n = 0; n < 200; n += 1) {
          await append(queue, testRecord({ data: { n, text: 'x'.repeat(5_000) } }));
          await drain(queue);
          await place.clock.advance(600);
        }
      };
      const limitBytes = await filling().then(
        () => 0,
        (error: { readonly details: { readonly limitBytes: number } }) => error.details.limitBytes,
      );
      const reserve = Math.floor(2 ** 20 * 0.05);
      expect(limitBytes - reserve).toBeGreaterThan(3 * 5_000);
      expect(limitBytes - reserve).toBeLessThan(4 * 5_000);
    }));

  it('keeps room to drain what waits: its lines, its values in the graph, and the log that the graph writes ahead (SC-029, QFS-30)', () => {
    expect(bytesToDrain(0)).toBe(0);
    expect(bytesToDrain(1_000)).toBe(3_000);
    expect(bytesToDrain(8 * 2 ** 30)).toBe(16 * 2 ** 30 + 32 * 2 ** 20);
  });

  it('says why appends are refused, acknowledges nothing, and heals by itself (P1, P2, QFS-31)', () =>
    withPlace(async (place) => {
      const disk = failingDisk(place.disk);
      const queue = await place.open({ disk });
      const [first] = await append(queue, ...numbered('s', 0, 1));
      const failed: string[] = [];
      const end = journalFailed.subscribe(({ code }) => failed.push(code));
      disk.plan([{ code: 'ENOSPC', path: /\.wal$/, times: Number.POSITIVE_INFINITY }]);
      const refused = await Promise.allSettled([
        queue.append(numbered('s', 1, 1)),
        queue.append(numbered('t', 0, 1)),
      ]);
      for (const one of refused)
        expect(one).toMatchObject({ reason: { code: 'QUEUE_WRITE_FAILED', disposition: 'retry' } });
      await expect(queue.append(numbered('s', 2, 1))).rejects.toMatchObject({
        code: 'QUEUE_WRITE_FAILED',
      });
      expect(queue.trouble()[0]?.message).toContain('ENOSPC');
      await place.clock.advance(20_000);
      expect(queue.trouble()).toHaveLength(1);
      disk.heal();
      await place.clock.advance(3_000);
      expect(queue.trouble()).toEqual([]);
      end();
      expect(failed.length).toBeGreaterThan(3);
      const [next] = await append(queue, ...numbered('s', 3, 1));
      expect(next).not.toBe(first);
      expect(await pendingNumbers(queue)).toEqual([0, 3]);
      expect(await queue.keyStatus(testKey('t'))).toBeUndefined();
      await assertBooks(queue, { accepted: 2, pending: 2 });
      await place.kill();
      const again = await place.open();
      expect(await pendingNumbers(again)).toEqual([0, 3]);
    }));
});

describe('the journal', () => {
  it('shows a record to no reader and no file before it is synced (QFS-10)', () =>
    withPlace(async (place) => {
      const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
      let isHeld = false;
      const disk = {
        ...place.disk,
        async open(...order: Parameters<typeof place.disk.open>) {
          const file = await place.disk.open(...order);
          const sync = async (): Promise<void> => {
            if (isHeld && file.path.endsWith('.wal')) await held;
            await file.sync();
          };
          return { ...file, path: file.path, sync };
        },
      };
      const queue = await place.open({ disk });
      await append(queue, ...numbered('s', 0, 1));
      isHeld = true;
      const waiting = queue.append(numbered('s', 1, 1));
      await place.clock.advance(1_000);
      expect(await pendingNumbers(queue)).toEqual([0]);
      expect(await readText(place.disk, `${folderOf()}/log.000000.jsonl`)).not.toContain('"n":1');
      letGo();
      await waiting;
      expect(await pendingNumbers(queue)).toEqual([0, 1]);
    }));

  it('gives a frame above its segment size a file of its own, and lets it go after a checkpoint (QFS-05)', () =>
    withPlace(async (place) => {
      const queue = await place.open({ limits: { segmentBytes: 8 * 1024 } });
      await append(queue, testRecord({ data: { n: 0, text: 'x'.repeat(50_000) } }));
      const largest = async (): Promise<number> => {
        const names = await namesIn(place.disk, journal, /\.wal$/);
        const sizes = names.map(
          async (name) => (await place.disk.stat(`${journal}/${name}`))?.size,
        );
        return Math.max(...(await Promise.all(sizes)).map((size) => size ?? 0));
      };
      expect(await largest()).toBeGreaterThan(50_000);
      expect(await pendingNumbers(queue)).toEqual([0]);
      await append(queue, ...numbered('s', 1, 1));
      await queue.checkpoint();
      expect(await largest()).toBe(8 * 1024);
      expect(await pendingNumbers(queue)).toEqual([0, 1]);
    }));

  it('uses its segments again, with another salt, and stays as small as it was (QFS-05)', () =>
    withPlace(async (place) => {
      const queue = await place.open({ limits: { segmentBytes: 8 * 1024 } });
      for (let n = 0; n < 60; n += 1) {
        await append(queue, testRecord({ data: { n, text: 'x'.repeat(2_000) } }));
        if (n % 6 === 5) await queue.checkpoint();
      }
      expect((await namesIn(place.disk, journal, /\.wal$/)).length).toBeLessThanOrEqual(6);
      await place.kill();
      const again = await place.open();
      expect(await pendingNumbers(again)).toHaveLength(60);
    }));

  it('needs at most one sync for twenty events of 64 senders at once (QFS-02, G12)', () =>
    withTemporaryDirectory(async (directory) => {
      const queue = await openQueue({
        disk: nodeDisk(),
        directory: `${directory}/queue`,
        clock: systemClock,
        chance: systemChance,
        limits: { segmentBytes: 2 ** 20, reserveBytes: 0 },
      });
      let syncs = 0;
      let records = 0;
      const end = journalSynced.subscribe((message) => {
        syncs += 1;
        records += message.records;
      });
      const sender = async (session: string): Promise<void> => {
        for (let n = 0; n < 50; n += 1) await append(queue, ...numbered(session, n, 1));
      };
      await Promise.all(Array.from({ length: 64 }, (_, at) => sender(`s${at % 10}`)));
      end();
      expect(records).toBe(3200);
      expect(syncs / records).toBeLessThanOrEqual(0.05);
      await queue.close();
    }));
});

describe('many keys', () => {
  it('cost no file handle and no timer each (QFS-15)', () =>
    withPlace(async (place) => {
      const queue = await place.open();
      const timers = place.clock.waitingCount();
      for (let at = 0; at < 400; at += 1) await append(queue, ...numbered(`k${at}`, 0, 1));
      expect(place.clock.waitingCount()).toBeLessThanOrEqual(timers + 1);
      await place.clock.advance(500);
      expect(place.disk.openPaths().filter((path) => path.endsWith('.jsonl')).length).toBe(256);
      await queue.close();
      expect(place.disk.openPaths()).toEqual([]);
      expect(place.clock.waitingCount()).toBe(0);
    }));

  it('leave memory when they are idle, those used last after all others (QFS-15)', () => {
    const table = new StateTable();
    for (let at = 0; at < 20; at += 1)
      table.put(newKeyState(testKey(`k${at}`), 'e', 0, table.memory));
    const busy = table.get(testKey('k3'));
    if (busy !== undefined) busy.pendingDuplicates = 1;
    table.evict((key) => key === testKey('k4'), 5);
    expect(table.size).toBe(5);
    expect(table.get(testKey('k3')), 'something of it is not in its files').toBeDefined();
    expect(table.get(testKey('k4')), 'somebody works with it').toBeDefined();
    expect(table.get(testKey('k19')), 'it was used last').toBeDefined();
  });

  it('leave memory at a cost that does not grow with those that cannot (QFS-15)', () => {
    const table = new StateTable();
    let looks = 0;
    const isBusy = (key: string): boolean => {
      looks += 1;
      return key.startsWith(testKey('busy'));
    };
    for (let at = 0; at < 5000; at += 1)
      table.put(newKeyState(testKey(`busy${at}`), 'e', 0, table.memory));
    looks = 0;
    for (let at = 0; at < 1000; at += 1) {
      table.put(newKeyState(testKey(`idle${at}`), 'e', 0, table.memory));
      table.evictIfCrowded(isBusy, 100);
    }
    expect(looks).toBeLessThanOrEqual(1000 * 128);
    table.evict(isBusy, 5000);
    table.evict(isBusy, 5000);
    expect([...table.values()].filter(({ key }) => !isBusy(key))).toEqual([]);
    expect(table.size).toBe(5000);
  });
});
