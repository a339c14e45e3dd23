import { describe, expect, it, vi } from 'vitest';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import {
  append,
  assertBooks,
  cursorAt,
  item,
  letterFor,
  numbered,
  pendingNumbers,
  statusOf,
} from '../../contract/queue/steps.ts';
import { queueDirectory } from '../../support/filesystem-queue.ts';
import { testKey, testRecord } from '../../support/queue-fixtures.ts';
import { edit, folderOf, readText, withPlace, type Place } from './place.ts';

const key = testKey();
const offsetPath = `${folderOf()}/offset.json`;

/** Makes the next record of the key a dead letter. */
async function bury(queue: FilesystemQueue, session = 's'): Promise<void> {
  const one = item((await queue.readBatch(testKey(session), { records: 1, bytes: 1e6 })).items);
  await queue.deadLetter(testKey(session), [letterFor(one)], one.after, cursorAt(0));
}

/** Session files whose dead letters are ahead of the offset record, and no journal: what a checkpoint leaves that is cut off before it. */
async function deadAhead(place: Place, dead: number, records = numbered('s', 0, 6)): Promise<void> {
  const first = await place.open();
  await append(first, ...records);
  await first.close();
  const before = await readText(place.disk, offsetPath);
  const second = await place.open();
  for (let count = 0; count < dead; count += 1) await bury(second);
  await second.close();
  await edit(place.disk, offsetPath, () => Buffer.from(before));
  await loseJournal(place);
}

async function loseJournal(place: Place): Promise<void> {
  for (const { name } of await place.disk.readDirectory(`${queueDirectory}/journal`))
    await place.disk.unlink(`${queueDirectory}/journal/${name}`);
}

describe('dead records that lead (C11, C12, ING-702)', () => {
  it('are passed once, with the cursor as it is, and make no second letter (ING-T13, ING-704, ING-718)', () =>
    withPlace(async (place) => {
      await deadAhead(place, 2);
      const queue = await place.open();
      expect((await statusOf(queue, key)).pending).toBe(4);
      expect(await pendingNumbers(queue)).toEqual([2, 3, 4, 5]);
      await assertBooks(queue, { accepted: 6, dead: 2, pending: 4 });
      expect(await queue.readDeadLetters(key)).toHaveLength(2);
      expect(await queue.reconcileDead(key), 'nothing is left to do').toBe(0);
      await queue.close();
      const again = await place.open();
      expect(await pendingNumbers(again)).toEqual([2, 3, 4, 5]);
      await assertBooks(again, { accepted: 6, dead: 2, pending: 4 });
    }));

  it('are passed by the pass over all keys as well, and keys in quarantine are left alone (W7, ING-705, ING-408)', () =>
    withPlace(async (place) => {
      await deadAhead(place, 3);
      const queue = await place.open();
      await append(queue, ...numbered('t', 0, 1));
      await queue.quarantine(testKey('t'), { code: 'CURSOR_CORRUPT', message: 'no' });
      const report = queue.reconcileAllDead(new AbortController().signal);
      expect(await report).toMatchObject({ failed: [] });
      expect(await queue.reconcileDead(testKey('t'))).toBe(0);
      expect(await pendingNumbers(queue)).toEqual([3, 4, 5]);
    }));

  it('end at the first that is not dead; a dead one behind it is passed in its turn (ING-709)', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('s', 0, 5));
      await first.close();
      const before = await readText(place.disk, offsetPath);
      const second = await place.open();
      await bury(second);
      const { items } = await second.readBatch(key, { records: 1, bytes: 1e6 });
      await second.commit(key, item(items).after, cursorAt(1), null);
      await bury(second);
      await second.close();
      await edit(place.disk, offsetPath, () => Buffer.from(before));
      await loseJournal(place);
      const queue = await place.open();
      expect(await pendingNumbers(queue)).toEqual([1]);
      const batch = await queue.readBatch(key, { records: 9, bytes: 1e6 });
      await queue.commit(key, item(batch.items).after, cursorAt(1), null);
      expect(await pendingNumbers(queue)).toEqual([3, 4]);
      await assertBooks(queue, { applied: 1, dead: 2, pending: 2 });
    }));

  it('do not excuse an equal line behind them: position and digest decide (ING-T27, ING-708)', () =>
    withPlace(async (place) => {
      const twin = testRecord({ data: { n: 7 } });
      await deadAhead(place, 1, [twin, twin, testRecord({ data: { n: 8 } })]);
      const queue = await place.open();
      expect(await pendingNumbers(queue)).toEqual([7, 8]);
      await assertBooks(queue, { dead: 1, pending: 2 });
    }));

  it('are no excuse for another record at their position (ING-708)', () =>
    withPlace(async (place) => {
      await deadAhead(place, 1);
      const path = `${folderOf()}/dead.jsonl`;
      await edit(place.disk, path, (bytes) =>
        Buffer.from(
          bytes.toString('utf8').replace(/"sha256":"[0-9a-f]{64}"/, `"sha256":"${'0'.repeat(64)}"`),
        ),
      );
      const queue = await place.open();
      expect(await pendingNumbers(queue)).toEqual([0, 1, 2, 3, 4, 5]);
    }));

  it('a reconcile that cannot be written is tried again by the next read (C13, ING-704)', () =>
    withPlace(async (place) => {
      await deadAhead(place, 2);
      const { failingDisk } = await import('#disk');
      const disk = failingDisk(place.disk);
      const queue = await place.open({ disk });
      disk.plan([{ code: 'EIO', calls: ['sync', 'writeAt'], path: /\.wal$/ }]);
      await expect(queue.readBatch(key, { records: 9, bytes: 1e6 })).rejects.toMatchObject({
        disposition: 'retry',
      });
      expect((await statusOf(queue, key)).quarantine).toBeNull();
      await place.clock.advance(5_000);
      expect(await pendingNumbers(queue)).toEqual([2, 3, 4, 5]);
    }));
});

const rounds = 300;

/** One round: a commit and a reconcile of one key are let go at once; the position never falls behind the commit. */
async function race(place: Place, queue: FilesystemQueue, round: number): Promise<void> {
  const session = `r${round}`;
  const own = testKey(session);
  await append(queue, ...numbered(session, 0, 3));
  const { items } = await queue.readBatch(own, { records: 2, bytes: 1e6 });
  const after = item(items, 1).after;
  const both = [
    () => queue.commit(own, after, cursorAt(2), null),
    () => queue.reconcileDead(own),
    () => queue.checkpoint(),
  ];
  await Promise.all((round % 2 === 0 ? both : both.toReversed()).map((act) => act()));
  const status = await statusOf(queue, own);
  expect(status.committed, `round ${round}`).toBe(after);
  expect((await queue.readCursor(own))?.layer1.event_seq).toBe(2);
  void place;
}

describe('a commit beside a reconcile', () => {
  it(`is never rolled back in ${rounds} rounds (ING-T01, G1, QFS-12)`, { timeout: 60_000 }, () =>
    withPlace(async (place) => {
      const queue = await place.open();
      for (let round = 0; round < rounds; round += 1) await race(place, queue, round);
      await queue.close();
      const again = await place.open();
      for (let round = 0; round < rounds; round += 50)
        expect((await statusOf(again, testKey(`r${round}`))).applied).toBe(2);
    }),
  );

  it('beside 50 live workers skips nothing and rolls nothing back (ING-T14, G14, ING-705)', () =>
    withPlace(async (place) => {
      const sessions = Array.from({ length: 50 }, (_, at) => `g${at}`);
      const first = await place.open();
      for (const session of sessions) await append(first, ...numbered(session, 0, 6));
      await first.close();
      const before = new Map<string, string>();
      for (const session of sessions)
        before.set(
          session,
          await readText(place.disk, `${folderOf(testKey(session))}/offset.json`),
        );
      const second = await place.open();
      for (const session of sessions) await bury(second, session);
      await second.close();
      for (const [session, text] of before)
        await edit(place.disk, `${folderOf(testKey(session))}/offset.json`, () =>
          Buffer.from(text),
        );
      await loseJournal(place);
      const queue = await place.open();
      const drainOne = async (session: string): Promise<void> => {
        for (let applied = 0; ;) {
          const batch = await queue.readBatch(testKey(session), { records: 2, bytes: 1e6 });
          const last = batch.items.at(-1);
          if (last === undefined) return;
          applied += batch.items.length;
          await queue.commit(testKey(session), last.after, cursorAt(applied), null);
        }
      };
      const pass = queue.reconcileAllDead(new AbortController().signal);
      await Promise.all([pass, ...sessions.map(drainOne)]);
      await assertBooks(queue, { accepted: 300, applied: 250, dead: 50, pending: 0 });
    }));
});

/** Queues with one defect each: the checks above have to turn red on them (ING-T00). */
describe('a reconcile that is broken on purpose', () => {
  const broken: Readonly<Record<string, { module: string; change: () => object }>> = {
    'keeps no mark of dead records ahead (T13)': {
      module: 'session/dead-ahead',
      change: () => ({ loadDead: async () => undefined, countUncounted: async () => undefined }),
    },
    'passes dead records without looking where they stand (T27)': {
      module: 'repair/reconcile',
      change: () => ({ passLeadingDead: async () => 0 }),
    },
  };
  for (const [name, { module, change }] of Object.entries(broken))
    it(`is found: it ${name}`, async () => {
      vi.resetModules();
      const path = `../../../queue-backends/filesystem/${module}.ts`;
      vi.doMock(path, async (original) => ({ ...(await original<object>()), ...change() }));
      try {
        const fresh = await import('./place.ts');
        const steps = await import('../../contract/queue/steps.ts');
        await fresh.withPlace(async (place) => {
          await deadAhead(place, 2);
          const queue = await place.open();
          expect(await steps.pendingNumbers(queue).catch(() => [])).not.toEqual([2, 3, 4, 5]);
        });
      } finally {
        vi.doUnmock(path);
        vi.resetModules();
      }
    });
});
