import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { seededChance } from '../../support/chance.ts';
import { testKey, testRecord, type Queue } from '../../support/queue-fixtures.ts';
import type { QueueCheck } from './harness.ts';
import {
  append,
  assertBooks,
  assertCode,
  cursorAt,
  discard,
  drain,
  item,
  kill,
  letterFor,
  numbered,
  pendingNumbers,
  readAll,
  statusOf,
} from './steps.ts';

const key = testKey();
const fault = { code: 'CURSOR_CORRUPT', message: 'a layer is missing' };

/** One random act on one of three keys; what cannot be done now is passed over. */
async function act(queue: Queue, float: () => number, round: number): Promise<void> {
  const session = `s${Math.floor(float() * 3)}`;
  const waiting = (await readAll(queue, session)).items.length;
  const letters = await queue.readDeadLetters(testKey(session));
  const live = letters.filter(({ outcome }) => outcome.kind === 'live');
  const choice = float();
  const some = testRecord({ session, eventId: `e${Math.floor(float() * 8)}`, data: { round } });
  if (choice < 0.35) await queue.append([some, ...numbered(session, round, 2), some]);
  else if (choice < 0.6 && waiting > 0)
    await drain(queue, session, 1 + Math.floor(float() * waiting));
  else if (choice < 0.8 && waiting > 0) await kill(queue, session);
  else if (choice < 0.9 && live.length > 0) await discard(queue, item(live).id, session);
  else if (live.length > 0) {
    const { id } = item(live);
    await queue.append([testRecord({ session, data: { round }, settles: id })]);
  }
}

export const ledgerChecks: readonly QueueCheck[] = [
  {
    name: 'balances its books after every act, per key and in all, over reopenings (P4, ING-717, ING-P09)',
    async run(harness) {
      const { float } = seededChance(7);
      let queue = await harness.open();
      for (let round = 0; round < 120; round += 1) {
        await act(queue, float, round);
        await assertBooks(queue);
        if (round % 40 !== 39) continue;
        // Since when the oldest waits may be known only once it is read again.
        const before = { ...queue.totals(), oldestPendingMs: null };
        queue = await harness.reopen();
        deepStrictEqual({ ...queue.totals(), oldestPendingMs: null }, before);
      }
      ok(queue.totals().accepted > 50, 'the acts did something');
    },
  },
  {
    name: 'tells what waits and since when, and nothing when all is drained',
    async run(harness) {
      const queue = await harness.open();
      const idle = queue.totals();
      deepStrictEqual(
        [
          idle.pending,
          idle.backlogBytes,
          idle.oldestPendingMs,
          idle.activeKeys,
          idle.quarantinedKeys,
        ],
        [0, 0, null, 0, 0],
      );
      await append(queue, ...numbered('s', 0, 2));
      const busy = queue.totals();
      strictEqual(busy.pending, 2);
      ok(busy.backlogBytes >= numbered('s', 0, 2).reduce((sum, { raw }) => sum + raw.length, 0));
      strictEqual((await statusOf(queue, key)).backlogBytes, busy.backlogBytes);
      ok(typeof busy.oldestPendingMs === 'number' && busy.oldestPendingMs > Date.UTC(2025));
      await drain(queue);
      const { backlogBytes, oldestPendingMs } = queue.totals();
      deepStrictEqual([backlogBytes, oldestPendingMs], [0, null]);
    },
  },
  {
    name: 'counts duplicates apart, and keeps the count over a reopening (ING-717)',
    async run(harness) {
      let queue = await harness.open();
      const record = testRecord({ eventId: 'e' });
      await append(queue, record);
      for (let again = 0; again < 3; again += 1) await queue.append([record]);
      strictEqual(queue.totals().duplicates, 3);
      queue = await harness.reopen();
      strictEqual(queue.totals().duplicates, 3);
      await assertBooks(queue, { accepted: 1 });
    },
  },
  {
    name: 'stops one key in quarantine and no other, from then on and after a reopening (P7, ING-408, ING-410)',
    async run(harness) {
      let queue = await harness.open();
      await append(queue, ...numbered('s', 0, 2), ...numbered('t', 0, 2));
      const one = item((await readAll(queue)).items);
      await queue.quarantine(key, fault);
      await queue.quarantine(key, { code: 'RECORD_CORRUPT', message: 'a later finding' });
      for (const restart of [false, true]) {
        if (restart) queue = await harness.reopen();
        const { quarantine } = await statusOf(queue, key);
        deepStrictEqual([quarantine?.code, quarantine?.message], [fault.code, fault.message]);
        ok(!Number.isNaN(Date.parse(quarantine?.since ?? '')));
        await assertCode(readAll(queue), 'SESSION_QUARANTINED', 'retry');
        const commit = queue.commit(key, one.after, cursorAt(1), null);
        await assertCode(commit, 'SESSION_QUARANTINED', 'retry');
        const dead = queue.deadLetter(key, [letterFor(one)], one.after, cursorAt(1));
        await assertCode(dead, 'SESSION_QUARANTINED', 'retry');
        deepStrictEqual(await queue.activeKeys(), [testKey('t')]);
        deepStrictEqual(await pendingNumbers(queue, 't'), [0, 1]);
        strictEqual(queue.totals().quarantinedKeys, 1);
      }
      await append(queue, ...numbered('s', 2, 1));
      await drain(queue, 't');
      await assertBooks(queue, { accepted: 5, applied: 2, pending: 3 });
    },
  },
  {
    name: 'has no trouble to tell while it is well',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 1));
      deepStrictEqual(queue.trouble(), []);
    },
  },
];
