import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { isMillraceError } from '#base';
import { testKey, testRecord, type Queue } from '../../support/queue-fixtures.ts';
import type { QueueCheck } from './harness.ts';
import { append, assertBooks, assertCode, drain, statuses, statusOf } from './steps.ts';

const big = (session: string, eventId?: string): ReturnType<typeof testRecord> =>
  testRecord({
    session,
    data: { text: 'x'.repeat(2000) },
    ...(eventId === undefined ? {} : { eventId }),
  });

/** Appends until the queue refuses; returns how many it took and what it said. */
async function fill(
  queue: Queue,
  session: string,
): Promise<{ count: number; code: string; keys: unknown }> {
  for (let count = 0; count < 1000; count += 1) {
    try {
      await queue.append([big(session)]);
    } catch (error) {
      ok(isMillraceError(error) && error.disposition === 'retry', String(error));
      return { count, code: error.code, keys: error.details['keys'] };
    }
  }
  throw new Error('the queue has no limit');
}

export const limitChecks: readonly QueueCheck[] = [
  {
    name: 'refuses a key above its backlog limit and names it; others go on, and so does it once drained (P9, ING-914)',
    async run(harness) {
      const queue = await harness.open({ bytesPerKeyMax: 10_000 });
      const { count, code, keys } = await fill(queue, 's');
      strictEqual(code, 'BACKLOG_FULL');
      deepStrictEqual(keys, [testKey()]);
      ok(count >= 3 && count <= 5, `${count} records`);
      await append(queue, big('t'));
      const bytes = (await statusOf(queue, testKey())).backlogBytes;
      ok(bytes <= 10_000, `${bytes} bytes wait`);
      await drain(queue);
      await append(queue, big('s'));
      await assertBooks(queue, { accepted: count + 2 });
    },
  },
  {
    name: 'stores nothing of a request of which one key is above its limit (D19, ING-T36)',
    async run(harness) {
      const queue = await harness.open({ bytesPerKeyMax: 10_000 });
      const { count } = await fill(queue, 's');
      await assertCode(queue.append([big('t'), big('s'), big('u')]), 'BACKLOG_FULL', 'retry');
      await assertBooks(queue, { accepted: count });
      strictEqual(queue.totals().knownKeys, 1);
      const six = Array.from({ length: 6 }, () => big('v'));
      await assertCode(queue.append(six), 'BACKLOG_FULL', 'retry');
    },
  },
  {
    name: 'refuses above the limit of all keys together, and goes on once something is drained (P9, ING-914)',
    async run(harness) {
      const queue = await harness.open({ bytesMax: 20_000 });
      let taken = 0;
      for (const session of ['a', 'b', 'c']) {
        for (let at = 0; at < 2; at += 1) await append(queue, big(session));
        taken += 2;
      }
      const { count, code } = await fill(queue, 'd');
      strictEqual(code, 'QUEUE_FULL');
      ok(queue.totals().backlogBytes <= 20_000);
      await drain(queue, 'a');
      await append(queue, big('d'));
      await assertBooks(queue, { accepted: taken + count + 1 });
    },
  },
  {
    name: 'answers a duplicate also while the queue is full (ING-512)',
    async run(harness) {
      const queue = await harness.open({ bytesPerKeyMax: 10_000 });
      await append(queue, big('s', 'e'));
      await fill(queue, 's');
      deepStrictEqual(await statuses(queue, [big('s', 'e')]), ['duplicate']);
    },
  },
  {
    name: 'takes events of a key in quarantine up to a limit of their own (P9, ING-411)',
    async run(harness) {
      const queue = await harness.open({ quarantineBacklogBytesMax: 10_000 });
      await append(queue, big('s'));
      await queue.quarantine(testKey(), { code: 'RECORD_CORRUPT', message: 'damaged' });
      const { count, code, keys } = await fill(queue, 's');
      strictEqual(code, 'SESSION_QUARANTINED');
      deepStrictEqual(keys, [testKey()]);
      ok(count >= 2, `${count} records`);
      await append(queue, big('t'));
      await assertBooks(queue, { accepted: count + 2, pending: count + 2 });
    },
  },
  {
    name: 'holds the limit against requests that come side by side (P9)',
    async run(harness) {
      const queue = await harness.open({ bytesPerKeyMax: 10_000 });
      const all = Array.from({ length: 40 }, () => queue.append([big('s')]));
      const settled = await Promise.allSettled(all);
      const taken = settled.filter(({ status }) => status === 'fulfilled').length;
      ok(taken >= 3 && taken <= 5, `${taken} records`);
      await assertBooks(queue, { accepted: taken });
    },
  },
];
