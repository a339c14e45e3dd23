import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import type { QueueCheck } from './harness.ts';
import {
  afterCrash,
  append,
  assertBooks,
  cursorAt,
  discard,
  drain,
  faultsOf,
  isPending,
  item,
  kill,
  letterFor,
  numbered,
  pendingNumbers,
  positionIn,
  readAll,
  statusOf,
} from './steps.ts';

const key = testKey();

export const durabilityChecks: readonly QueueCheck[] = [
  {
    name: 'keeps every acknowledged record through crash after crash (P1, P4)',
    needs: ['crash'],
    async run(harness) {
      let queue = await harness.open();
      for (let round = 0; round < 5; round += 1) {
        await append(queue, ...numbered('s', round * 2, 2), ...numbered('t', round, 1));
        queue = await afterCrash(harness);
        const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
        deepStrictEqual(await pendingNumbers(queue, 's'), upTo(round * 2 + 2));
        deepStrictEqual(await pendingNumbers(queue, 't'), upTo(round + 1));
        await assertBooks(queue, { accepted: (round + 1) * 3 });
      }
    },
  },
  {
    name: 'keeps offset and cursor together through a crash (P3)',
    needs: ['crash'],
    async run(harness) {
      let queue = await harness.open();
      await append(queue, ...numbered('s', 0, 6));
      for (let count = 1; count <= 5; count += 1) {
        const { after } = item((await readAll(queue)).items);
        await queue.commit(key, after, cursorAt(count), { position: after, sha256: 'ab' });
        queue = await afterCrash(harness);
        deepStrictEqual(await queue.readCursor(key), cursorAt(count));
        const status = await statusOf(queue, key);
        strictEqual(status.committed, after);
        deepStrictEqual(status.appliedMark, { position: after, sha256: 'ab' });
        await assertBooks(queue, { accepted: 6, applied: count, pending: 6 - count });
      }
    },
  },
  {
    name: 'keeps letters and their outcomes with the commits that carry them through a crash (P3, D5)',
    needs: ['crash'],
    async run(harness) {
      let queue = await harness.open();
      await append(queue, ...numbered('s', 0, 3));
      const a = await kill(queue);
      queue = await afterCrash(harness);
      deepStrictEqual(await pendingNumbers(queue), [1, 2]);
      strictEqual(item(await queue.readDeadLetters(key)).id, a);
      const b = await kill(queue);
      await discard(queue, a);
      queue = await afterCrash(harness);
      await append(queue, testRecord({ data: { n: 1 }, settles: b }));
      queue = await afterCrash(harness);
      const kinds = (await queue.readDeadLetters(key)).map(({ outcome }) => outcome.kind);
      deepStrictEqual(kinds, ['discarded', 'requeued']);
      deepStrictEqual(await pendingNumbers(queue), [2, 1]);
      await assertBooks(queue, { accepted: 3, pending: 2, dead: 0, discarded: 1 });
    },
  },
  {
    name: 'goes on with higher positions after a crash (P2)',
    needs: ['crash'],
    async run(harness) {
      let queue = await harness.open();
      let last = item(await append(queue, ...numbered('s', 0, 1)));
      for (let round = 1; round < 4; round += 1) {
        await drain(queue);
        queue = await afterCrash(harness);
        const [next] = await append(queue, ...numbered('s', round, 1));
        ok(next !== undefined && next > last, `${next} comes after ${last}`);
        last = next;
      }
    },
  },
  {
    name: 'loses an append that was not synced as a whole, and gives its place to the next (P1, P2)',
    needs: ['crash', 'faults'],
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 1));
      const letGo = faultsOf(harness).holdSyncs();
      const lost = queue.append([...numbered('s', 1, 3), ...numbered('t', 0, 3)]);
      const outcome = Promise.allSettled([lost]);
      ok(await isPending(lost));
      const crashed = afterCrash(harness);
      letGo();
      const again = await crashed;
      await outcome;
      const found = await pendingNumbers(again, 's');
      const other = await pendingNumbers(again, 't');
      ok(
        (found.length === 1 && other.length === 0) || (found.length === 4 && other.length === 3),
        `all or nothing: ${found.join()} and ${other.join()}`,
      );
      await append(again, ...numbered('s', 9, 1));
      strictEqual(item(await pendingNumbers(again, 's'), -1), 9);
      await assertBooks(again);
    },
  },
  {
    name: 'keeps a quarantine through a crash (ING-410)',
    needs: ['crash'],
    async run(harness) {
      let queue = await harness.open();
      await append(queue, ...numbered('s', 0, 1));
      await queue.quarantine(key, { code: 'RECORD_CORRUPT', message: 'damaged' });
      queue = await afterCrash(harness);
      strictEqual((await statusOf(queue, key)).quarantine?.code, 'RECORD_CORRUPT');
      deepStrictEqual(await queue.activeKeys(), []);
    },
  },
  {
    name: 'needs no letter twice when the commit that carried it was acknowledged before a crash (ING-718)',
    needs: ['crash'],
    async run(harness) {
      let queue = await harness.open();
      await append(queue, ...numbered('s', 0, 1));
      const one = item((await readAll(queue)).items);
      await queue.deadLetter(key, [letterFor(one)], one.after, cursorAt(0));
      queue = await afterCrash(harness);
      await queue.deadLetter(key, [letterFor(one)], one.after, cursorAt(0));
      strictEqual((await queue.readDeadLetters(key)).length, 1);
      const [first] = await queue.append(numbered('s', 1, 1));
      ok(positionIn(first) >= one.after);
      await assertBooks(queue, { accepted: 2, dead: 1, pending: 1 });
    },
  },
];
