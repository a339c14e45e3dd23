import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { isMillraceError } from '#base';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import type { QueueCheck } from './harness.ts';
import {
  append,
  assertBooks,
  cursorAt,
  item,
  letterFor,
  numbered,
  pendingNumbers,
  readAll,
} from './steps.ts';

const key = testKey();

async function assertFenced(promise: Promise<unknown>): Promise<void> {
  const [settled] = await Promise.allSettled([promise]);
  ok(settled?.status === 'rejected', 'an older generation writes nothing');
  const error: unknown = settled.reason;
  ok(isMillraceError(error) && error.disposition === 'fenced', String(error));
}

export const fenceChecks: readonly QueueCheck[] = [
  {
    name: 'lets no write of an older generation take effect after a takeover (P6, ING-236)',
    needs: ['takeOver'],
    async run(harness) {
      const old = await harness.open();
      await append(old, ...numbered('s', 0, 2));
      const one = item((await readAll(old)).items);
      ok(harness.takeOver !== undefined);
      const next = await harness.takeOver();
      const late = [
        () => old.append([testRecord({ data: { n: 7 } })]),
        () => old.append([testRecord({ session: 'new' })]),
        () => old.commit(key, one.after, cursorAt(1), null),
        () => old.deadLetter(key, [letterFor(one)], one.after, cursorAt(1)),
        () => old.quarantine(key, { code: 'RECORD_CORRUPT', message: 'seen by the old one' }),
      ];
      for (const write of late) await assertFenced(write());
      await append(next, ...numbered('s', 2, 1));
      deepStrictEqual(await pendingNumbers(next), [0, 1, 2]);
      deepStrictEqual(await next.readDeadLetters(key), []);
      strictEqual(await next.keyStatus(testKey('new')), undefined);
      await assertBooks(next, { accepted: 3, pending: 3 });
    },
  },
  {
    name: 'writes nothing once its permit has ended (P6, ING-236)',
    needs: ['loseTenure'],
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 1));
      const one = item((await readAll(queue)).items);
      ok(harness.loseTenure !== undefined);
      harness.loseTenure();
      await assertFenced(queue.append([testRecord()]));
      await assertFenced(queue.commit(key, one.after, cursorAt(1), null));
      await assertFenced(queue.deadLetter(key, [letterFor(one)], one.after, cursorAt(1)));
      const again = await harness.reopen();
      deepStrictEqual(await pendingNumbers(again), [0]);
      await assertBooks(again, { accepted: 1, pending: 1 });
    },
  },
];
