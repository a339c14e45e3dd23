import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { sha256Hex } from '#base';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import type { QueueCheck } from './harness.ts';
import {
  append,
  assertChained,
  cursorAt,
  drain,
  everything,
  item,
  numbered,
  numbersIn,
  pendingNumbers,
  readAll,
  statusOf,
} from './steps.ts';

export const readChecks: readonly QueueCheck[] = [
  {
    name: 'gives at most as many records and bytes as asked, and always one if there is one (ING-402, P9)',
    async run(harness) {
      const queue = await harness.open();
      const large = testRecord({ data: { n: 0, text: 'x'.repeat(10_000) } });
      await append(queue, large, ...numbered('s', 1, 9));
      const key = testKey();
      const read = async (records: number, bytes: number): Promise<readonly number[]> =>
        numbersIn(await queue.readBatch(key, { records, bytes }));
      deepStrictEqual(await read(3, 2 ** 20), [0, 1, 2]);
      deepStrictEqual(await read(100, 1), [0]);
      deepStrictEqual(await read(0, 0), [0]);
      await drain(queue, 's', 1);
      const some = await queue.readBatch(key, { records: 100, bytes: 500 });
      const bytes = some.items.reduce((sum, { raw }) => sum + raw.length, 0);
      ok(some.items.length > 1 && bytes <= 500, `${some.items.length} records of ${bytes} bytes`);
    },
  },
  {
    name: 'goes on after the committed position, and each record begins where the one before it ended (P2, ING-106)',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 10));
      assertChained(await readAll(queue));
      const last = await drain(queue, 's', 4);
      const batch = await readAll(queue);
      strictEqual(batch.start, last.after);
      strictEqual(batch.start, (await statusOf(queue, testKey())).committed);
      strictEqual(item(batch.items, -1).after, (await statusOf(queue, testKey())).end);
      assertChained(batch);
      deepStrictEqual(numbersIn(batch), [4, 5, 6, 7, 8, 9]);
    },
  },
  {
    name: 'moves nothing by reading',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 3));
      const [a, b] = [await readAll(queue), await readAll(queue)];
      deepStrictEqual(a, b);
      strictEqual((await statusOf(queue, testKey())).pending, 3);
    },
  },
  {
    name: 'gives an empty batch for a key without records that wait, and for one never seen',
    async run(harness) {
      const queue = await harness.open();
      deepStrictEqual((await readAll(queue, 'unknown')).items, []);
      strictEqual(await queue.readCursor(testKey('unknown')), null);
      strictEqual(await queue.keyStatus(testKey('unknown')), undefined);
      deepStrictEqual(await queue.readDeadLetters(testKey('unknown')), []);
      await append(queue, ...numbered('s', 0, 1));
      await drain(queue);
      deepStrictEqual((await readAll(queue)).items, []);
    },
  },
  {
    name: 'gives every record exactly once to a reader that commits as it goes, with appends beside it (P2, P4)',
    async run(harness) {
      const queue = await harness.open();
      const key = testKey();
      const seen: number[] = [];
      const writer = (async () => {
        for (let at = 0; at < 60; at += 1) await append(queue, ...numbered('s', at * 5, 5));
      })();
      while (seen.length < 300) {
        const batch = await queue.readBatch(key, { records: 7, bytes: 2 ** 20 });
        const last = batch.items.at(-1);
        if (last === undefined) {
          await Promise.race([writer, append(queue, testRecord({ session: 'pace' }))]);
          continue;
        }
        assertChained(batch);
        seen.push(...numbersIn(batch));
        await queue.commit(key, last.after, cursorAt(seen.length), null);
      }
      await writer;
      deepStrictEqual(
        seen,
        Array.from({ length: 300 }, (_, at) => at),
      );
      deepStrictEqual(await pendingNumbers(queue), []);
    },
  },
  {
    name: 'knows any record of its log by its digest and the position after it (ING-541)',
    async run(harness) {
      let queue = await harness.open();
      const key = testKey();
      await append(queue, ...numbered('s', 0, 5));
      const { items, start } = await queue.readBatch(key, everything);
      await drain(queue, 's', 3);
      for (const restart of [false, true]) {
        if (restart) queue = await harness.reopen();
        for (const { raw, after } of items) {
          strictEqual(await queue.digestEndingAt(key, after), sha256Hex(raw));
        }
        strictEqual(await queue.digestEndingAt(key, start), undefined);
        strictEqual(await queue.digestEndingAt(testKey('t'), item(items).after), undefined);
      }
    },
  },
];
