import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { isMillraceError } from '#base';
import type { BatchItem } from '#queue';
import { testKey, testRecord, type Queue } from '../../support/queue-fixtures.ts';
import type { QueueCheck, QueueHarness } from './harness.ts';
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

/** Every kind of write, by a queue that does not know that it was replaced. */
function lateWrites(old: Queue, one: BatchItem): readonly (() => Promise<unknown>)[] {
  return [
    () => old.append([testRecord({ data: { n: 7 } })]),
    () => old.append([testRecord({ session: 'new' })]),
    () => old.commit(key, one.after, cursorAt(1), null),
    () => old.deadLetter(key, [letterFor(one)], one.after, cursorAt(1)),
    () => old.quarantine(key, { code: 'RECORD_CORRUPT', message: 'seen by the old one' }),
  ];
}

async function takeOver(harness: QueueHarness): Promise<Queue> {
  ok(harness.takeOver !== undefined, 'the check needs takeovers');
  return harness.takeOver();
}

export const fenceChecks: readonly QueueCheck[] = [
  {
    name: 'lets no write of an older generation take effect after a takeover, not even at the next start (P6, ING-236)',
    needs: ['takeOver'],
    async run(harness) {
      const old = await harness.open();
      await append(old, ...numbered('s', 0, 2));
      const one = item((await readAll(old)).items);
      let next = await takeOver(harness);
      for (const write of lateWrites(old, one)) await Promise.allSettled([write()]);
      await append(next, ...numbered('s', 2, 1));
      for (const restart of [false, true]) {
        if (restart) next = await harness.reopen();
        deepStrictEqual(await pendingNumbers(next), [0, 1, 2]);
        deepStrictEqual(await next.readDeadLetters(key), []);
        strictEqual(await next.keyStatus(testKey('new')), undefined);
        await assertBooks(next, { accepted: 3, pending: 3 });
      }
    },
  },
  {
    name: 'tells a writer of an older generation that it is fenced (P6, QFS-40)',
    needs: ['takeOver', 'refusesStale'],
    async run(harness) {
      const old = await harness.open();
      await append(old, ...numbered('s', 0, 2));
      const one = item((await readAll(old)).items);
      await takeOver(harness);
      for (const write of lateWrites(old, one)) await assertFenced(write());
    },
  },
  {
    name: 'writes nothing once its permit has ended, and ends all the same (P6, P10, ING-236)',
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
      // The end may say that it could not leave the place as a clean one does; it is an end all the same.
      await Promise.allSettled([queue.close()]);
      const again = await harness.reopen();
      deepStrictEqual(await pendingNumbers(again), [0]);
      await assertBooks(again, { accepted: 1, pending: 1 });
    },
  },
];
