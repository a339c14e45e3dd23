import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import type { QueueCheck } from './harness.ts';
import {
  append,
  afterCrash,
  appendWhenWell,
  assertBooks,
  assertChained,
  assertCode,
  faultsOf,
  isPending,
  item,
  numbered,
  pendingNumbers,
  positionIn,
  readAll,
  statusOf,
} from './steps.ts';

/** Records whose bytes a careless reader would change or split (ING-T35). */
const nasty: readonly Uint8Array[] = [
  '{"v":1,"ev":"e","data":{"s":"a\u2028b\u2029c\u0085d"}}',
  '{"v":1,"ev":"e","data":{"s":"\\r\\n"}}\r}',
  '{"v":1,"ev":"e","data":{"n":12345678901234567890.10}}',
  '{"v":1,"ev":"e","data":{"crc":"00000000"},"crc":"ffffffff"}',
]
  .map((text) => Buffer.from(text))
  .concat([
    Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]),
    Buffer.from([0x7b, 0x00, 0x0b, 0x0c, 0x7d]),
  ]);

export const appendChecks: readonly QueueCheck[] = [
  {
    name: 'gives each record an outcome in order, with rising positions of one epoch (P2)',
    async run(harness) {
      const queue = await harness.open();
      const outcomes = await queue.append([...numbered('s', 0, 3), ...numbered('t', 0, 2)]);
      const [a, b, c, d, e] = outcomes.map(positionIn);
      ok(a !== undefined && b !== undefined && c !== undefined && a < b && b < c);
      ok(d !== undefined && e !== undefined && d < e);
      const epochs = outcomes.map((outcome) => ('epoch' in outcome ? outcome.epoch : ''));
      strictEqual(new Set(epochs.slice(0, 3)).size, 1);
      strictEqual(epochs[0], (await statusOf(queue, testKey('s'))).epoch);
      ok(item(await append(queue, ...numbered('s', 3, 1))) > c);
      strictEqual(item((await readAll(queue)).items).at, a);
    },
  },
  {
    name: 'keeps the order of a key in the order of the request, whatever lies between (ING-113)',
    async run(harness) {
      const queue = await harness.open();
      const [a, b] = [numbered('s', 0, 5), numbered('t', 0, 5)];
      await append(queue, ...a.flatMap((one, at) => [one, item(b, at)]));
      deepStrictEqual(await pendingNumbers(queue, 's'), [0, 1, 2, 3, 4]);
      deepStrictEqual(await pendingNumbers(queue, 't'), [0, 1, 2, 3, 4]);
    },
  },
  {
    name: 'keeps the bytes of every record as they came, through a reopening too (ING-026, ING-T35)',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...nasty.map((raw) => ({ ...testRecord(), raw })));
      const first = await readAll(queue);
      assertChained(first);
      deepStrictEqual(
        first.items.map(({ raw }) => Buffer.from(raw)),
        nasty.map((raw) => Buffer.from(raw)),
      );
      const again = await readAll(await harness.reopen());
      deepStrictEqual(
        again.items.map(({ raw }) => Buffer.from(raw)),
        nasty.map((raw) => Buffer.from(raw)),
      );
    },
  },
  {
    name: 'refuses a request with a record that is not one line, and stores nothing of it (ING-122)',
    async run(harness) {
      const queue = await harness.open();
      for (const text of ['{"a":\n1}', '{}\n', '', '[]', '{"a":1']) {
        const bad = { ...testRecord(), raw: Buffer.from(text) };
        await assertCode(queue.append([testRecord(), bad]), 'RECORD_FRAMING', 'reject');
      }
      strictEqual(queue.totals().accepted, 0);
      strictEqual((await readAll(queue)).items.length, 0);
    },
  },
  {
    name: 'answers an empty request with nothing',
    async run(harness) {
      const queue = await harness.open();
      deepStrictEqual(await queue.append([]), []);
    },
  },
  {
    name: 'acknowledges after the sync and never before, and shows nobody a record until then (P1)',
    needs: ['faults'],
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 1));
      const letGo = faultsOf(harness).holdSyncs();
      const promise = queue.append(numbered('s', 1, 1));
      ok(await isPending(promise), 'the acknowledgement waits for the sync');
      deepStrictEqual(await pendingNumbers(queue), [0]);
      strictEqual(queue.totals().accepted, 1);
      letGo();
      await promise;
      deepStrictEqual(await pendingNumbers(queue), [0, 1]);
    },
  },
  {
    name: 'keeps nothing of a request whose sync fails, of any of its keys (P1, ING-T37)',
    needs: ['faults'],
    async run(harness) {
      const queue = await harness.open();
      await append(queue, ...numbered('s', 0, 1));
      faultsOf(harness).failSyncs(1);
      const request = [...numbered('s', 1, 2), ...numbered('t', 0, 2)];
      await assertCode(queue.append(request), 'QUEUE_WRITE_FAILED', 'retry');
      deepStrictEqual(await pendingNumbers(queue, 's'), [0]);
      deepStrictEqual(await pendingNumbers(queue, 't'), []);
      await appendWhenWell(queue, numbered('s', 7, 1));
      deepStrictEqual(await pendingNumbers(queue, 's'), [0, 7]);
      assertChained(await readAll(queue));
      await assertBooks(queue, { accepted: 2, pending: 2 });
      const again = await harness.reopen();
      deepStrictEqual(await pendingNumbers(again, 's'), [0, 7]);
      deepStrictEqual(await pendingNumbers(again, 't'), []);
    },
  },
  {
    name: 'keeps all or nothing of a request, whichever of its syncs fails (P1, D19, ING-T36)',
    needs: ['faults'],
    async run(harness) {
      const queue = await harness.open();
      const { failSyncs } = faultsOf(harness);
      let kept = 0;
      for (let after = 0; after < 4; after += 1) {
        failSyncs(1, after);
        const request = [...numbered('s', after, 1), ...numbered('t', after, 2)];
        const [settled] = await Promise.allSettled([queue.append(request)]);
        if (settled?.status === 'fulfilled') kept += 1;
        strictEqual((await readAll(queue, 's')).items.length, kept);
        strictEqual((await readAll(queue, 't')).items.length, kept * 2);
        failSyncs(0);
        await appendWhenWell(queue, numbered('u', after, 1));
      }
      await assertBooks(queue, { accepted: kept * 3 + 4 });
    },
  },
  {
    name: 'keeps requests of one key that come side by side in the order of their calls (ING-123)',
    async run(harness) {
      const queue = await harness.open();
      const settled: number[] = [];
      await Promise.all(
        numbered('s', 0, 200).map(async (record, at) => {
          await queue.append([record]);
          settled.push(at);
        }),
      );
      const all = Array.from({ length: 200 }, (_, at) => at);
      deepStrictEqual(await pendingNumbers(queue), all);
      deepStrictEqual(settled, all);
    },
  },
  {
    name: 'does not read the caller’s bytes after it has answered',
    async run(harness) {
      const queue = await harness.open();
      const raw = Buffer.from(testRecord({ data: { n: 1 } }).raw);
      await queue.append([{ ...testRecord(), raw }]);
      raw.fill(0x20);
      deepStrictEqual(await pendingNumbers(queue), [1]);
    },
  },
  {
    name: 'lets the first principal own a key, and refuses others unless they may (ING-915)',
    async run(harness) {
      const queue = await harness.open();
      await append(queue, testRecord({ principal: 'ann' }));
      const [foreign, own] = await queue.append([
        testRecord({ principal: 'bob' }),
        testRecord({ principal: 'ann' }),
      ]);
      deepStrictEqual(foreign, { status: 'foreign', owner: 'ann' });
      strictEqual(own?.status, 'queued');
      await append(queue, testRecord({ principal: 'bob', mayWriteForeign: true }));
      strictEqual((await statusOf(queue, testKey())).owner, 'ann');
      const again = await harness.reopen();
      const [still] = await again.append([testRecord({ principal: 'bob' })]);
      strictEqual(still?.status, 'foreign');
      await assertBooks(again, { accepted: 3 });
    },
  },
  {
    name: 'gives a key to nobody who need not prove who they are (ING-915)',
    async run(harness) {
      let queue = await harness.open();
      await append(queue, testRecord({ principal: 'local' }));
      strictEqual((await statusOf(queue, testKey())).owner, null);
      queue = await harness.reopen();
      const [claiming, other, local] = await Promise.all(
        ['ann', 'bob', 'local'].map(async (principal) => {
          const mayWriteForeign = principal === 'local';
          return (await queue.append([testRecord({ principal, mayWriteForeign })]))[0]?.status;
        }),
      );
      deepStrictEqual([claiming, other, local], ['queued', 'foreign', 'queued']);
      queue = await harness.reopen();
      strictEqual((await statusOf(queue, testKey())).owner, 'ann');
      deepStrictEqual(await queue.append([testRecord({ principal: 'bob' })]), [
        { status: 'foreign', owner: 'ann' },
      ]);
      await assertBooks(queue, { accepted: 3 });
    },
  },
  {
    name: 'keeps who claimed a key through a crash (ING-915)',
    needs: ['crash'],
    async run(harness) {
      const queue = await harness.open();
      await append(queue, testRecord({ principal: 'local' }));
      await append(queue, testRecord({ principal: 'ann' }));
      const again = await afterCrash(harness);
      strictEqual((await statusOf(again, testKey())).owner, 'ann');
      await assertBooks(again, { accepted: 2 });
    },
  },
  {
    name: 'makes nobody the owner of an ownerless key by a request that failed (ING-127)',
    needs: ['faults'],
    async run(harness) {
      const queue = await harness.open();
      await append(queue, testRecord({ principal: 'local' }));
      faultsOf(harness).failSyncs(1);
      await assertCode(
        queue.append([testRecord({ principal: 'ann' })]),
        'QUEUE_WRITE_FAILED',
        'retry',
      );
      const [first] = await appendWhenWell(queue, [testRecord({ principal: 'bob' })]);
      strictEqual(first?.status, 'queued');
      strictEqual((await statusOf(queue, testKey())).owner, 'bob');
    },
  },
  {
    name: 'makes nobody the owner by a request that failed (ING-127)',
    needs: ['faults'],
    async run(harness) {
      const queue = await harness.open();
      faultsOf(harness).failSyncs(1);
      await assertCode(
        queue.append([testRecord({ principal: 'ann' })]),
        'QUEUE_WRITE_FAILED',
        'retry',
      );
      const [first] = await appendWhenWell(queue, [testRecord({ principal: 'bob' })]);
      strictEqual(first?.status, 'queued');
      strictEqual((await statusOf(queue, testKey())).owner, 'bob');
    },
  },
];
