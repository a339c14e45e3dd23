import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert/strict';
import { queueProtocolVersion, requireCapability } from '#queue';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import type { QueueCheck } from './harness.ts';
import {
  append,
  assertBooks,
  assertCode,
  cursorAt,
  drain,
  faultsOf,
  isPending,
  item,
  numbered,
  pendingNumbers,
  readAll,
} from './steps.ts';

export const lifecycleChecks: readonly QueueCheck[] = [
  {
    name: 'says which protocol it speaks and what it can do, and refuses what it cannot by name (ING-101, ING-108)',
    async run(harness) {
      const queue = await harness.open();
      strictEqual(queue.protocolVersion, queueProtocolVersion);
      const { fsync, ordered, logStructured } = queue.capabilities;
      ok(['always', 'group', 'none'].includes(fsync));
      strictEqual(ordered, true);
      if (logStructured) requireCapability(queue, 'logStructured', 'this');
      else
        throws(
          () => requireCapability(queue, 'logStructured', 'this'),
          (error: { code?: string; disposition?: string }) =>
            error.code === 'CAPABILITY_MISSING' && error.disposition === 'reject',
        );
    },
  },
  {
    name: 'takes no work once it is closed, and closes once (P10)',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 1));
      const one = item((await readAll(queue)).items);
      await queue.close();
      await queue.close();
      await assertCode(queue.append([testRecord()]), 'DRAINING', 'retry');
      const commit = queue.commit(testKey(), one.after, cursorAt(1), null);
      await assertCode(commit, 'DRAINING', 'retry');
    },
  },
  {
    name: 'ends every append in flight with an outcome before it has closed (P10, P1)',
    async run(harness) {
      const queue = await harness.open();
      const appends = numbered('s', 0, 50).map((record) => queue.append([record]));
      const closed = queue.close();
      const settled = await Promise.allSettled(appends);
      await closed;
      const taken = settled.flatMap(({ status }, at) => (status === 'fulfilled' ? [at] : []));
      const again = await harness.reopen();
      deepStrictEqual(await pendingNumbers(again), taken);
      await assertBooks(again, { accepted: taken.length });
    },
  },
  {
    name: 'fails who waits for an id on its way when it closes, and leaves nothing half (P10)',
    needs: ['faults'],
    async run(harness) {
      const queue = await harness.open();
      const letGo = faultsOf(harness).holdSyncs();
      const record = testRecord({ eventId: 'e', data: { n: 1 } });
      const leading = queue.append([record]);
      const waiting = queue.append([record]);
      ok(await isPending(waiting));
      const closed = queue.close();
      letGo();
      const [lead, wait] = await Promise.allSettled([leading, waiting, closed]);
      strictEqual(lead?.status, 'fulfilled');
      if (wait?.status === 'rejected') await assertCode(waiting, 'DRAINING', 'retry');
      deepStrictEqual(await pendingNumbers(await harness.reopen()), [1]);
    },
  },
  {
    name: 'finds everything after each of several reopenings (P4)',
    async run(harness) {
      let queue = await harness.open();
      for (let round = 0; round < 4; round += 1) {
        await append(queue, ...numbered('s', round * 3, 3));
        if (round > 0) await drain(queue, 's', 2);
        queue = await harness.reopen();
      }
      deepStrictEqual(await pendingNumbers(queue), [6, 7, 8, 9, 10, 11]);
      await assertBooks(queue, { accepted: 12, applied: 6, pending: 6 });
    },
  },
];
