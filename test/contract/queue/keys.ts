import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import type { QueueCheck } from './harness.ts';
import { append, assertBooks, drain, item, kill, numbered, pendingNumbers } from './steps.ts';

/** Names that a careless backend would put into a path, a query or a subject as they are. */
const oddNames = [
  '..',
  '.',
  'a/b',
  'a\\b',
  '~',
  '%41',
  'offset',
  'log.000000',
  'ünï\u2028çødé',
  '🦆',
  ' ',
  '*',
  '>',
  "';--",
  'CON',
  'S'.repeat(512),
];

export const keyChecks: readonly QueueCheck[] = [
  {
    name: 'names the keys that wait for a drain, and no other',
    async run(harness) {
      let queue = await harness.open();
      deepStrictEqual(await queue.activeKeys(), []);
      await append(queue, ...numbered('a', 0, 2), ...numbered('b', 0, 1), ...numbered('c', 0, 1));
      await drain(queue, 'a', 1);
      await drain(queue, 'b');
      await kill(queue, 'c');
      for (const restart of [false, true]) {
        if (restart) queue = await harness.reopen();
        deepStrictEqual(await queue.activeKeys(), [testKey('a')]);
        strictEqual(queue.totals().activeKeys, 1);
        strictEqual(queue.totals().knownKeys, 3);
      }
      await append(queue, ...numbered('b', 1, 1));
      deepStrictEqual((await queue.activeKeys()).toSorted(), [testKey('a'), testKey('b')]);
    },
  },
  {
    name: 'takes any session and workspace name, and keeps it as the client wrote it (ING-110, ING-P04)',
    async run(harness) {
      let queue = await harness.open();
      const names = oddNames.map((session) => ({ session, workspace: session }));
      await append(queue, ...names.map((name, n) => testRecord({ ...name, data: { n } })));
      queue = await harness.reopen();
      for (const [n, { session, workspace }] of names.entries()) {
        const key = testKey(session, workspace);
        const status = await queue.keyStatus(key);
        deepStrictEqual([status?.session, status?.workspace], [session, workspace]);
        const { items } = await queue.readBatch(key, { records: 10, bytes: 2 ** 20 });
        deepStrictEqual(
          items.map(({ raw }) => JSON.parse(Buffer.from(raw).toString('utf8')).data.n as number),
          [n],
        );
      }
      strictEqual(queue.totals().knownKeys, names.length);
    },
  },
  {
    name: 'lists keys page by page in key order, narrowed by state, session and workspace',
    async run(harness) {
      let queue = await harness.open();
      const sessions = Array.from({ length: 25 }, (_, at) => `s${String(at).padStart(2, '0')}`);
      for (const session of sessions) await append(queue, ...numbered(session, 0, 1));
      await append(queue, testRecord({ session: 's07', workspace: 'other' }));
      for (const session of sessions.slice(0, 20)) await drain(queue, session);
      await kill(queue, 's24');
      await queue.quarantine(testKey('s21'), { code: 'CURSOR_CORRUPT', message: 'it is damaged' });
      for (const restart of [false, true]) {
        if (restart) queue = await harness.reopen();
        const seen: string[] = [];
        for (let afterKey = undefined as ReturnType<typeof testKey> | undefined; ;) {
          const page = await queue.listKeys({
            limit: 10,
            ...(afterKey === undefined ? {} : { afterKey }),
          });
          if (page.length === 0) break;
          ok(page.length <= 10);
          seen.push(...page.map(({ key }) => key));
          afterKey = item(page, -1).key;
        }
        deepStrictEqual(seen, seen.toSorted());
        strictEqual(new Set(seen).size, 26);
        const some = async (
          filter: Omit<Parameters<typeof queue.listKeys>[0], 'limit'>,
        ): Promise<readonly string[]> =>
          (await queue.listKeys({ limit: 100, ...filter })).map(({ key }) => key);
        deepStrictEqual(
          await some({ session: 's07' }),
          [testKey('s07', 'other'), testKey('s07')].toSorted(),
        );
        deepStrictEqual(await some({ workspace: 'other' }), [testKey('s07', 'other')]);
        deepStrictEqual(await some({ state: 'quarantined' }), [testKey('s21')]);
        ok((await some({ state: 'dead' })).includes(testKey('s24')));
        const active = await some({ state: 'active' });
        ok(active.includes(testKey('s20')) && !active.includes(testKey('s00')), active.join());
      }
    },
  },
  {
    name: 'keeps 300 keys apart over a reopening (P4)',
    async run(harness) {
      let queue = await harness.open();
      const sessions = Array.from({ length: 300 }, (_, at) => `s${at}`);
      await Promise.all(sessions.map((session, n) => queue.append(numbered(session, n, 2))));
      for (const session of sessions.slice(0, 150)) await drain(queue, session, 1);
      queue = await harness.reopen();
      strictEqual((await queue.activeKeys()).length, 300);
      deepStrictEqual(await pendingNumbers(queue, 's7'), [8]);
      deepStrictEqual(await pendingNumbers(queue, 's299'), [299, 300]);
      await assertBooks(queue, { accepted: 600, applied: 150, pending: 450 });
    },
  },
];
