import { describe, expect, it } from 'vitest';
import { failingDisk } from '#disk';
import { evidenceKept, keyQuarantined } from '#signals';
import {
  append,
  appendWhenWell,
  assertBooks,
  cursorAt,
  drain,
  numbered,
  pendingNumbers,
} from '../contract/queue/steps.ts';
import {
  edit,
  flipAt,
  folderOf,
  segmentPaths,
  withPlace,
} from '../queue-backends/filesystem/place.ts';
import { testKey } from '../support/queue-fixtures.ts';

describe('damage', () => {
  it('SC-003 in a journal frame is looked at a bounded number of times, kept, and holds nobody up', () =>
    withPlace(async (place) => {
      const first = await place.open();
      for (let at = 0; at < 30; at += 1) await append(first, ...numbered(`s${at % 3}`, at, 1));
      await place.kill();
      const [path] = await segmentPaths(place.disk);
      await edit(place.disk, path ?? '', (bytes) => flipAt(bytes, '"n":12'));
      const told: string[] = [];
      const ends = [
        evidenceKept.subscribe(({ reason }) => told.push(reason)),
        keyQuarantined.subscribe(({ key }) => told.push(key)),
      ];
      const disk = failingDisk(place.disk);
      const second = await place.open({ disk });
      const calls = disk.callCount();
      expect(calls).toBeLessThan(1_000);
      for (let minute = 0; minute < 5; minute += 1) await place.clock.advance(60_000);
      for (const end of ends) end();
      expect(told.length).toBeGreaterThan(0);
      expect(told.length).toBeLessThan(10);
      expect(disk.callCount() - calls, 'nothing is read over and over').toBeLessThan(1_000);
      await append(second, ...numbered('other', 0, 1));
      await second.close();
    }));

  it('SC-004 of two hundred session logs stops those sessions, and every other is ready and drains (P7)', () =>
    withPlace(async (place) => {
      const first = await place.open();
      for (let at = 0; at < 220; at += 1) await append(first, ...numbered(`s${at}`, 0, 2));
      await first.close();
      for (let at = 0; at < 200; at += 1)
        await edit(place.disk, `${folderOf(testKey(`s${at}`))}/log.000000.jsonl`, (bytes) =>
          flipAt(bytes, '"n":0'),
        );
      const second = await place.open();
      for (let at = 200; at < 220; at += 1)
        expect(await pendingNumbers(second, `s${at}`)).toEqual([0, 1]);
      for (let at = 0; at < 200; at += 1)
        await expect(pendingNumbers(second, `s${at}`)).rejects.toMatchObject({
          code: 'RECORD_CORRUPT',
        });
      expect(second.totals().quarantinedKeys).toBe(200);
      await drain(second, 's219');
      await append(second, ...numbered('new', 0, 1));
      await assertBooks(second, { accepted: 441, applied: 2, pending: 439 });
    }));

  it('SC-008 is no position that begins anew: fifty writers before the first drain after a restart, each event once and in order (P2)', () =>
    withPlace(async (place) => {
      const first = await place.open();
      for (let at = 0; at < 1000; at += 100) await append(first, ...numbered('s', at, 100));
      await place.kill();
      const second = await place.open();
      await Promise.all(
        Array.from({ length: 50 }, (_, at) => second.append(numbered('s', 1000 + at, 1))),
      );
      const read: number[] = [];
      while (read.length < 1050) {
        const batch = await second.readBatch(testKey(), { records: 64, bytes: 2 ** 20 });
        for (const { raw } of batch.items)
          read.push((JSON.parse(Buffer.from(raw).toString()) as { data: { n: number } }).data.n);
        const last = batch.items.at(-1);
        if (last === undefined) break;
        await second.commit(testKey(), last.after, cursorAt(read.length), null);
      }
      expect(read.slice(0, 1000)).toEqual(Array.from({ length: 1000 }, (_, at) => at));
      expect(read.slice(1000).toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 50 }, (_, at) => 1000 + at),
      );
      await assertBooks(second, { accepted: 1050, applied: 1050 });
    }));

  it('SC-009 of one offset record among five hundred keeps nobody else waiting (P7)', () =>
    withPlace(async (place) => {
      const first = await place.open();
      for (let at = 0; at < 500; at += 1) await append(first, ...numbered(`s${at}`, 0, 1));
      await first.close();
      await edit(place.disk, `${folderOf(testKey('s250'))}/offset.json`, () => Buffer.alloc(300));
      const second = await place.open();
      await appendWhenWell(second, numbered('s1', 1, 1));
      expect(await pendingNumbers(second, 's1')).toEqual([0, 1]);
      await append(second, ...numbered('s250', 1, 1));
      expect((await second.keyStatus(testKey('s250')))?.quarantine?.code).toBe('OFFSET_CORRUPT');
      expect(second.totals().quarantinedKeys).toBe(1);
    }));
});
