import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { contentDigest } from '#record';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import type { QueueCheck } from './harness.ts';
import {
  afterCrash,
  append,
  appendWhenWell,
  assertBooks,
  assertCode,
  discard,
  drain,
  faultsOf,
  isPending,
  item,
  kill,
  pendingNumbers,
  positionIn,
  readAll,
  statuses,
} from './steps.ts';

const first = testRecord({ eventId: 'e', data: { n: 1, m: { a: 1, b: 2 } } });
const other = testRecord({ eventId: 'e', data: { n: 2 } });

/** The same record with its bytes written another way. */
function rewritten(
  change: (line: Record<string, unknown>) => Record<string, unknown>,
): typeof first {
  const line = JSON.parse(Buffer.from(first.raw).toString('utf8')) as Record<string, unknown>;
  return { ...first, raw: Buffer.from(JSON.stringify(change(line))) };
}

export const dedupChecks: readonly QueueCheck[] = [
  {
    name: 'answers a known id with the first position and stores nothing (ING-512)',
    async run(harness) {
      const queue = await harness.open();
      const [position] = await append(queue, first);
      const [again] = await queue.append([first]);
      strictEqual(again?.status, 'duplicate');
      strictEqual(positionIn(again), position);
      deepStrictEqual(await pendingNumbers(queue), [1]);
      strictEqual(queue.totals().duplicates, 1);
      await assertBooks(queue, { accepted: 1, pending: 1 });
    },
  },
  {
    name: 'compares the content as JSON values: order, white space and other members do not count (ING-517, ING-T34)',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, first);
      const same = [
        rewritten((line) => ({ ...line, data: { m: { b: 2, a: 1 }, n: 1 } })),
        rewritten((line) => ({ ...line, more: { working_dir: '/elsewhere' } })),
        rewritten((line) => ({ ...line, at: '2030-01-01T00:00:00.000Z' })),
        {
          ...first,
          raw: Buffer.from(Buffer.from(first.raw).toString('utf8').replace(':{', ' :  { ')),
        },
      ];
      deepStrictEqual(
        await statuses(queue, same),
        same.map(() => 'duplicate'),
      );
      await assertBooks(queue, { accepted: 1 });
    },
  },
  {
    name: 'reports a known id with other content and names the stored one, never drops it in silence (ING-517, ING-T34)',
    async run(harness) {
      const queue = await harness.open();
      const [position] = await append(queue, first);
      const renamed = rewritten((line) => ({ ...line, ev: 'other:event' }));
      for (const conflicting of [other, renamed]) {
        const [outcome] = await queue.append([conflicting]);
        deepStrictEqual(outcome, {
          status: 'conflict',
          position,
          storedSha256: contentDigest(first.raw),
        });
      }
      await drain(queue);
      deepStrictEqual(await statuses(queue, [other, first]), ['conflict', 'duplicate']);
      await assertBooks(queue, { accepted: 1, applied: 1 });
    },
  },
  {
    name: 'takes records of one derived id for one, whatever their content (D21, ING-517)',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, { ...first, isDerivedId: true });
      deepStrictEqual(await statuses(queue, [{ ...other, isDerivedId: true }]), ['duplicate']);
      const again = await harness.reopen();
      deepStrictEqual(await statuses(again, [{ ...other, isDerivedId: true }]), ['duplicate']);
    },
  },
  {
    name: 'never takes events without id for duplicates (ING-514)',
    async run(harness) {
      const queue = await harness.open();
      const record = testRecord({ data: { n: 1 } });
      await append(queue, record, record);
      await append(queue, record);
      deepStrictEqual(await pendingNumbers(queue), [1, 1, 1]);
    },
  },
  {
    name: 'finds duplicates and conflicts within one request, and per key only',
    async run(harness) {
      const queue = await harness.open();
      const elsewhere = testRecord({ session: 't', eventId: 'e', data: { n: 3 } });
      const outcomes = await queue.append([first, other, first, elsewhere]);
      deepStrictEqual(
        outcomes.map(({ status }) => status),
        ['queued', 'conflict', 'duplicate', 'queued'],
      );
      strictEqual(positionIn(outcomes[2]), positionIn(outcomes[0]));
      await assertBooks(queue, { accepted: 2 });
    },
  },
  {
    name: 'knows an id after the record was drained, after a reopening and after a crash (P4, ING-513)',
    needs: ['crash'],
    async run(harness) {
      let queue = await harness.open();
      const [position] = await append(queue, first);
      await drain(queue);
      for (const restart of [() => harness.reopen(), () => afterCrash(harness)]) {
        queue = await restart();
        const [again, conflict] = await queue.append([first, other]);
        strictEqual(again?.status, 'duplicate');
        strictEqual(positionIn(again), position);
        strictEqual(conflict?.status, 'conflict');
      }
      await assertBooks(queue, { accepted: 1, applied: 1 });
    },
  },
  {
    name: 'lets a second request with an id on its way wait for the outcome of the first (ING-520, ING-T30)',
    needs: ['faults'],
    async run(harness) {
      const queue = await harness.open();
      const letGo = faultsOf(harness).holdSyncs();
      const leading = queue.append([first]);
      const second = queue.append([first, testRecord({ session: 't' })]);
      const third = queue.append([other]);
      ok(await isPending(second), 'the second waits');
      letGo();
      const [a, b, c] = await Promise.all([leading, second, third]);
      deepStrictEqual(
        [a, b, c].map((outcomes) => outcomes[0]?.status),
        ['queued', 'duplicate', 'conflict'],
      );
      strictEqual(positionIn(b[0]), positionIn(a[0]));
      strictEqual(b[1]?.status, 'queued');
      await assertBooks(queue, { accepted: 2 });
    },
  },
  {
    name: 'consumes no id by a request that failed, also for one that waited for it (ING-520, ING-T30)',
    needs: ['faults'],
    async run(harness) {
      const queue = await harness.open();
      const letGo = faultsOf(harness).holdSyncs();
      const leading = queue.append([first]);
      const waiting = queue.append([first]);
      ok(await isPending(waiting));
      faultsOf(harness).failSyncs(1);
      letGo();
      const [lead, wait] = await Promise.allSettled([leading, waiting]);
      strictEqual(lead?.status, 'rejected');
      const [again] = await appendWhenWell(queue, [first]);
      const wasStored = wait?.status === 'fulfilled';
      strictEqual(again?.status, wasStored ? 'duplicate' : 'queued');
      deepStrictEqual(await pendingNumbers(queue), [1]);
      await assertBooks(queue, { accepted: 1 });
    },
  },
  {
    name: 'gives up the wait for an id at the caller’s deadline, with nothing stored of that request (ING-520)',
    needs: ['faults'],
    async run(harness) {
      const queue = await harness.open();
      const letGo = faultsOf(harness).holdSyncs();
      const leading = queue.append([first]);
      const deadline = new AbortController();
      const waiting = queue.append([first, testRecord({ session: 't' })], {
        signal: deadline.signal,
      });
      ok(await isPending(waiting));
      deadline.abort();
      await assertCode(waiting, 'DRAINING', 'retry');
      letGo();
      await leading;
      await assertBooks(queue, { accepted: 1 });
    },
  },
  {
    name: 'takes the id of a dead record again as its requeue, if the content is the same (ING-515, P4)',
    async run(harness) {
      let queue = await harness.open();
      await append(queue, first);
      const id = await kill(queue);
      queue = await harness.reopen();
      deepStrictEqual(await statuses(queue, [other]), ['conflict']);
      const [again] = await queue.append([first]);
      strictEqual(again?.status, 'queued');
      const [letter] = await queue.readDeadLetters(testKey());
      strictEqual(letter?.id, id);
      strictEqual(letter.outcome.kind, 'requeued');
      await assertBooks(queue, { accepted: 1, pending: 1, dead: 0 });
      deepStrictEqual(await statuses(queue, [first]), ['duplicate']);
      await drain(queue);
      await assertBooks(queue, { accepted: 1, applied: 1 });
    },
  },
  {
    name: 'takes the id of a discarded record again as a new one (ING-515, ING-717)',
    async run(harness) {
      let queue = await harness.open();
      await append(queue, first);
      await discard(queue, await kill(queue));
      queue = await harness.reopen();
      deepStrictEqual(await statuses(queue, [other]), ['conflict']);
      deepStrictEqual(await statuses(queue, [first]), ['queued']);
      await assertBooks(queue, { accepted: 2, pending: 1, discarded: 1 });
      deepStrictEqual(await statuses(queue, [first]), ['duplicate']);
    },
  },
  {
    name: 'stores nothing of an atomic request with a conflict or a foreign record (ING-912)',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, first);
      const fresh = testRecord({ session: 't', eventId: 'f' });
      deepStrictEqual(await statuses(queue, [fresh, first, other], { atomic: true }), [
        'refused',
        'duplicate',
        'conflict',
      ]);
      const foreign = testRecord({ principal: 'bob' });
      deepStrictEqual(await statuses(queue, [fresh, foreign], { atomic: true }), [
        'refused',
        'foreign',
      ]);
      await assertBooks(queue, { accepted: 1 });
      deepStrictEqual(await statuses(queue, [fresh, first], { atomic: true }), [
        'queued',
        'duplicate',
      ]);
    },
  },
  {
    name: 'keeps the first of many that send one id at the same time, and tells all others (ING-T30)',
    async run(harness) {
      const queue = await harness.open();
      const outcomes = await Promise.all(Array.from({ length: 40 }, () => queue.append([first])));
      const found = outcomes.map((one) => item(one).status);
      strictEqual(found.filter((status) => status === 'queued').length, 1);
      strictEqual(found.filter((status) => status === 'duplicate').length, 39);
      strictEqual((await readAll(queue)).items.length, 1);
    },
  },
];
