import { describe, expect, it } from 'vitest';
import type { FencePermit } from '#fence';
import { emptyCursor, formatPosition } from '#record';
import type { DedupEntry, KeyRow, StateStore } from '#state';
import { testKey, testPermit } from '../../support/queue-fixtures.ts';

/** One place where a state store keeps its content between openings. */
export interface StateHarness {
  open(permit: FencePermit): Promise<StateStore>;
  dispose(): Promise<void>;
}

const key = testKey();
const entry: DedupEntry = {
  ordinal: 3,
  offset: 2 ** 40 + 7,
  length: 16 * 2 ** 20,
  status: 'live',
  isDerivedId: false,
};
const row: KeyRow = {
  ordinal: 2,
  epoch: 'epoch-1',
  position: formatPosition({ ordinal: 2, epoch: 'epoch-1', offset: 512 }),
  appliedPosition: formatPosition({ ordinal: 2, epoch: 'epoch-1', offset: 480 }),
  sha256: 'ab'.repeat(32),
  cursor: { ...emptyCursor(), future_member: { kept: true } },
  totals: { accepted: 5, applied: 3, dead: 1, discarded: 1, duplicates: 9 },
  workspace: 'w',
  session: 's\u2028\u00e9',
  owner: null,
};

/** What every state store does (ING-513, ING-516, ING-610, FEN-401…407). */
export function describeState(name: string, makeHarness: () => Promise<StateHarness>): void {
  const withHarness = async (use: (harness: StateHarness) => Promise<void>): Promise<void> => {
    const harness = await makeHarness();
    try {
      await use(harness);
    } finally {
      await harness.dispose();
    }
  };
  const withStore = (use: (store: StateStore) => Promise<void>): Promise<void> =>
    withHarness(async (harness) => {
      const store = await harness.open(testPermit());
      await use(store);
      await store.close();
    });

  describe(`state store ${name}`, () => {
    it('keeps every member of a dedup entry, with and without a digest (ING-516)', () =>
      withStore(async (store) => {
        const entries: Record<string, DedupEntry> = {
          plain: entry,
          dead: { ...entry, status: 'dead', isDerivedId: true },
          discarded: { ...entry, status: 'discarded', contentSha256: '0f'.repeat(32) },
        };
        await store.write(
          testPermit(),
          Object.entries(entries).map(([eventId, one]) => ({
            table: 'dedup',
            key,
            eventId,
            entry: one,
          })),
        );
        for (const [eventId, one] of Object.entries(entries))
          expect(store.getDedup(key, eventId)).toEqual(one);
        expect(store.getDedup(key, 'other')).toBeUndefined();
        expect(store.getDedup(testKey('t'), 'plain')).toBeUndefined();
      }));

    it('keeps the row of a key whole, members of later versions of the cursor too (ING-610)', () =>
      withStore(async (store) => {
        await store.write(testPermit(), [{ table: 'row', key, row }]);
        expect(store.getRow(key)).toEqual(row);
        expect(store.getRow(testKey('t'))).toBeUndefined();
      }));

    it('keeps the ids of epochs that have ended, each by its ordinal', () =>
      withStore(async (store) => {
        await store.write(testPermit(), [
          { table: 'epoch', key, ordinal: 0, epoch: 'first' },
          { table: 'epoch', key, ordinal: 256, epoch: 'later' },
        ]);
        expect(store.getEpoch(key, 0)).toBe('first');
        expect(store.getEpoch(key, 256)).toBe('later');
        expect(store.getEpoch(key, 1)).toBeUndefined();
        expect(store.getEpoch(testKey('t'), 0)).toBeUndefined();
        await store.write(testPermit(), [{ table: 'epoch', key, ordinal: 0, epoch: null }]);
        expect(store.getEpoch(key, 0)).toBeUndefined();
      }));

    it('tells how far a checkpoint has come, a new store that it holds nothing', () =>
      withStore(async (store) => {
        expect(store.checkpointedThrough()).toBe(0);
        await store.write(testPermit(), [{ table: 'checkpoint', through: 17 }]);
        expect(store.checkpointedThrough()).toBe(17);
      }));

    it('applies the writes of one call in order, the last one counting', () =>
      withStore(async (store) => {
        const progress = { epoch: 'e', indexedThrough: 12 };
        await store.write(testPermit(), [
          { table: 'progress', key, progress: { epoch: 'e', indexedThrough: 1 } },
          { table: 'dedup', key, eventId: 'a', entry },
          { table: 'progress', key, progress },
          { table: 'dedup', key, eventId: 'a', entry: null },
        ]);
        expect(store.getProgress(key)).toEqual(progress);
        expect(store.getDedup(key, 'a')).toBeUndefined();
        await store.write(testPermit(), [
          { table: 'progress', key, progress: null },
          { table: 'row', key, row: null },
        ]);
        expect(store.getProgress(key)).toBeUndefined();
      }));

    it('takes the longest key and an id of any length', () =>
      withStore(async (store) => {
        const long = testKey('s'.repeat(158));
        const eventId = 'é'.repeat(512);
        await store.write(testPermit(), [{ table: 'dedup', key: long, eventId, entry }]);
        expect(store.getDedup(long, eventId)).toEqual(entry);
        expect(store.getDedup(long, `${eventId}é`)).toBeUndefined();
      }));

    it('keeps what was written before a flush over a reopening (P4)', () =>
      withHarness(async (harness) => {
        const first = await harness.open(testPermit());
        await first.write(testPermit(), [{ table: 'row', key, row }]);
        await first.flush();
        await first.close();
        const again = await harness.open(testPermit());
        expect(again.getRow(key)).toEqual(row);
        await again.close();
      }));

    it('refuses a lower generation and undoes nothing of the higher one (P6, FEN-401)', () =>
      withStore(async (store) => {
        await store.write(testPermit(5), [{ table: 'row', key, row }]);
        const late = store.write(testPermit(4), [{ table: 'row', key, row: null }]);
        await expect(late).rejects.toMatchObject({ code: 'FENCE_STALE', disposition: 'fenced' });
        expect(store.getRow(key)).toEqual(row);
        await store.write(testPermit(5), [{ table: 'row', key, row: null }]);
        expect(store.getRow(key)).toBeUndefined();
      }));

    it('shuts the older generation out from the moment that a newer one opens it (P6, FEN-403)', () =>
      withHarness(async (harness) => {
        const store = await harness.open(testPermit(7));
        await store.close();
        await expect(harness.open(testPermit(6))).rejects.toMatchObject({ code: 'FENCE_STALE' });
        const next = await harness.open(testPermit(8));
        const late = next.write(testPermit(7), []);
        await expect(late).rejects.toMatchObject({ code: 'FENCE_STALE' });
        await next.close();
      }));

    it('refuses an equal generation of another holder, and another domain by its own name (FEN-402)', () =>
      withStore(async (store) => {
        const { FencePermit: permits } = await import('#fence');
        const twin = permits.issue('daemon:SR-test', 1, 'somebody else', () => true);
        await expect(store.write(twin, [])).rejects.toMatchObject({ code: 'FENCE_STALE' });
        const foreign = permits.issue('daemon:SR-other', 9, 'holder-9', () => true);
        await expect(store.write(foreign, [])).rejects.toMatchObject({
          code: 'STATE_MISMATCH',
          disposition: 'fatal',
        });
      }));

    it('writes nothing once its permit has ended (FEN-404)', () =>
      withStore(async (store) => {
        let isLive = true;
        const permit = testPermit(1, () => isLive);
        await store.write(permit, [{ table: 'row', key, row }]);
        isLive = false;
        const late = store.write(permit, [{ table: 'row', key, row: null }]);
        await expect(late).rejects.toMatchObject({ code: 'FENCE_LOST', disposition: 'fenced' });
        expect(store.getRow(key)).toEqual(row);
      }));

    it('forgets ids of live records before a place, or all from one on, of that key alone (ING-542)', () =>
      withStore(async (store) => {
        const permit = testPermit();
        const other = testKey('other');
        const idAt = (ordinal: number, offset: number, status: DedupEntry['status']) => ({
          table: 'dedup' as const,
          key,
          eventId: `${ordinal}-${offset}`,
          entry: { ...entry, ordinal, offset, status },
        });
        await store.write(permit, [
          idAt(1, 900, 'live'),
          idAt(2, 10, 'live'),
          idAt(2, 20, 'dead'),
          idAt(2, 30, 'live'),
          idAt(2, 40, 'live'),
          { ...idAt(1, 1, 'live'), key: other },
        ]);
        const left = (): readonly string[] =>
          ['1-900', '2-10', '2-20', '2-30', '2-40'].filter(
            (id) => store.getDedup(key, id) !== undefined,
          );
        expect(await store.forgetIds(permit, key, { before: { ordinal: 2, offset: 30 } })).toBe(2);
        expect(left()).toEqual(['2-20', '2-30', '2-40']);
        expect(await store.forgetIds(permit, key, { from: { ordinal: 2, offset: 40 } })).toBe(1);
        expect(left()).toEqual(['2-20', '2-30']);
        expect(store.getDedup(other, '1-1')).toBeDefined();
        const stale = testPermit(1, () => false);
        await expect(
          store.forgetIds(stale, key, { from: { ordinal: 0, offset: 0 } }),
        ).rejects.toMatchObject({ disposition: 'fenced' });
      }));

    it('tells the keys that have a row, page by page in their order', () =>
      withStore(async (store) => {
        const keys = ['b', 'a', 'c'].map((name) => testKey(name));
        for (const one of keys) await store.write(testPermit(), [{ table: 'row', key: one, row }]);
        const first = store.rowKeys({ after: undefined, limit: 2 });
        expect(first).toEqual([testKey('a'), testKey('b')]);
        expect(store.rowKeys({ after: first.at(-1), limit: 2 })).toEqual([testKey('c')]);
      }));

    it('keeps the order of writes that are handed over side by side', () =>
      withStore(async (store) => {
        const writes = Array.from({ length: 50 }, (_, at) =>
          store.write(testPermit(), [
            { table: 'progress', key, progress: { epoch: 'e', indexedThrough: at } },
          ]),
        );
        await Promise.all(writes);
        expect(store.getProgress(key)?.indexedThrough).toBe(49);
        await store.flush();
      }));

    it('refuses every call after it was closed, and closes once', () =>
      withHarness(async (harness) => {
        const store = await harness.open(testPermit());
        await store.close();
        await store.close();
        expect(() => store.getRow(key)).toThrow('open');
        await expect(store.write(testPermit(), [])).rejects.toThrow('open');
        await expect(store.flush()).rejects.toThrow('open');
      }));
  });
}
