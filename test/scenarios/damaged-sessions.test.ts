import { describe, expect, it } from 'vitest';
import { evidenceKept } from '#signals';
import {
  append,
  assertBooks,
  drain,
  kill,
  numbered,
  pendingNumbers,
  statusOf,
} from '../contract/queue/steps.ts';
import {
  edit,
  flipAt,
  folderOf,
  namesIn,
  readText,
  withPlace,
} from '../queue-backends/filesystem/place.ts';
import {
  apply,
  clear,
  folder,
  help,
  key,
  logPath,
  offsetPath,
  recordWith,
} from '../queue-backends/filesystem/stopped-key.ts';
import { testKey, testRecord } from '../support/queue-fixtures.ts';

describe('damage in the files of one session', () => {
  it('SC-001 U1: half a record at the end of a log goes, what is appended later is whole, nothing is dead', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('s', 0, 3));
      await first.close();
      await edit(place.disk, logPath, (bytes) => Buffer.concat([bytes, Buffer.from('{"torn":')]));
      const queue = await place.open();
      await append(queue, testRecord({ data: { n: 3 } }));
      expect(await pendingNumbers(queue)).toEqual([0, 1, 2, 3]);
      await assertBooks(queue, { accepted: 4, dead: 0, pending: 4 });
      const [torn] = await namesIn(place.disk, folder, /\.torn\./);
      expect(await readText(place.disk, `${folder}/${torn}`)).toBe('{"torn":');
    }));

  it('SC-002: one bad line in the middle is one letter with its bytes, all others are drained', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('s', 0, 5));
      await first.close();
      await edit(place.disk, logPath, (bytes) => {
        const lines = bytes.toString('utf8').split('\n');
        lines[2] = '{oops'.padEnd(lines[2]?.length ?? 0);
        return Buffer.from(lines.join('\n'));
      });
      const queue = await place.open();
      await apply(queue, 2);
      await expect(queue.readBatch(key, { records: 1, bytes: 1e6 })).rejects.toThrow();
      await clear(queue, 'pass-over');
      await apply(queue, 2);
      await assertBooks(queue, { accepted: 5, applied: 4, dead: 1, pending: 0 });
      const [letter, ...others] = await queue.readDeadLetters(key);
      expect(others).toEqual([]);
      expect(Buffer.from(letter?.payload ?? []).toString('utf8')).toMatch(/^\{oops {3,}\n$/);
    }));

  it('SC-006 U2: five unreadable offset records are five stopped sessions; all others drain', () =>
    withPlace(async (place) => {
      const texts = ['\0'.repeat(300), '12x', '-5', '', '9'.repeat(40)];
      const first = await place.open();
      for (let at = 0; at < 8; at += 1) await append(first, ...numbered(`s${at}`, 0, 2));
      await first.close();
      for (const [at, text] of texts.entries())
        await edit(place.disk, `${folderOf(testKey(`s${at}`))}/offset.json`, () =>
          Buffer.from(text),
        );
      const queue = await place.open();
      expect((await queue.listKeys({ limit: 10, state: 'quarantined' })).length).toBe(5);
      for (let at = 5; at < 8; at += 1) await drain(queue, `s${at}`);
      await assertBooks(queue, { accepted: 16, applied: 6, pending: 10 });
      for (let at = 0; at < 5; at += 1) {
        const order = { mode: 'restart-log', by: 'operator', operationId: `op${at}` } as const;
        await queue.clearQuarantine(testKey(`s${at}`), order, help);
        await drain(queue, `s${at}`);
      }
      await assertBooks(queue, { accepted: 16, applied: 16, pending: 0 });
    }));

  it('SC-007 U4: an offset beyond the log stops the session, the next event is taken, and delivered once the position is set', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('s', 0, 1));
      await apply(first, 1);
      await first.close();
      await edit(place.disk, offsetPath, (bytes) => recordWith(bytes, { offset: 999 }));
      const queue = await place.open();
      await append(queue, testRecord({ data: { n: 1 } }));
      expect((await statusOf(queue, key)).quarantine?.code).toBe('OFFSET_BEYOND_LOG');
      await clear(queue, 'restart-log');
      expect(await pendingNumbers(queue)).toEqual([0, 1]);
      await assertBooks(queue, { accepted: 2, applied: 0, pending: 2 });
    }));

  it('U3: an empty offset record beside a journal is told anew from the newest commit, never taken for 0', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('s', 0, 3));
      await apply(first, 1);
      await first.checkpoint();
      await apply(first, 1);
      await place.kill();
      await edit(place.disk, offsetPath, () => Buffer.alloc(0));
      const queue = await place.open();
      expect((await statusOf(queue, key)).quarantine).toBeNull();
      expect(await pendingNumbers(queue)).toEqual([2]);
    }));

  it('U5: an offset inside a record gives nobody half a record', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('s', 0, 3));
      await apply(first, 1);
      await first.close();
      await edit(place.disk, offsetPath, (bytes) => {
        const { offset } = JSON.parse(bytes.toString('utf8')) as { offset: number };
        return recordWith(bytes, { offset: offset + 5 });
      });
      const queue = await place.open();
      await expect(queue.readBatch(key, { records: 9, bytes: 1e6 })).rejects.toMatchObject({
        code: 'OFFSET_MISALIGNED',
      });
      await clear(queue, 'restart-log');
      expect(await pendingNumbers(queue)).toEqual([0, 1, 2]);
    }));

  it('U6: a torn line in the dead-letter file is skipped, counted and told; all other letters are there', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('s', 0, 3));
      await kill(first);
      await first.close();
      await edit(place.disk, `${folder}/dead.jsonl`, (bytes) =>
        Buffer.concat([bytes, Buffer.from('{"v":1,"id":"to')]),
      );
      const told: string[] = [];
      const end = evidenceKept.subscribe(({ reason }) => told.push(reason));
      const queue = await place.open();
      expect(await queue.readDeadLetters(key)).toHaveLength(1);
      expect(await queue.readDeadLetters(key)).toHaveLength(1);
      end();
      expect(told.filter((reason) => reason.includes('no dead letter'))).toHaveLength(1);
      expect(await pendingNumbers(queue)).toEqual([1, 2]);
      await edit(place.disk, logPath, (bytes) => flipAt(bytes, '"n":1'));
      await queue.close();
      const again = await place.open();
      await again.readBatch(key, { records: 1, bytes: 1e6 }).catch(() => undefined);
      expect((await again.showQuarantine(key))?.unparsedLetters).toBe(1);
    }));
});
