import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { IF_EXISTS, open, type Database, type RootDatabase } from 'lmdb';
import { describe, expect, it } from 'vitest';
import { openLmdbState, type DedupEntry, type LmdbState, type StateWrite } from '#state';
import { seal } from '../../src/state/seal.ts';
import { walkState, type Walk } from '../../src/state/walk-state.ts';
import { testKey, testPermit } from '../support/queue-fixtures.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

type Raw = RootDatabase<Buffer, Buffer>;

const raiserScript = fileURLToPath(new URL('state-raiser.ts', import.meta.url));
const binary = { encoding: 'binary', keyEncoding: 'binary' } as const;
const markKey = Buffer.from('\0guard');
const entry: DedupEntry = {
  ordinal: 0,
  offset: 7,
  length: 1,
  status: 'live',
  isDerivedId: false,
};

function idsOf(...ids: readonly string[]): StateWrite[] {
  return ids.map((eventId) => ({ table: 'dedup', key: testKey(), eventId, entry }));
}

function openRaw(directory: string): Raw {
  return open<Buffer, Buffer>({ path: directory, noSubdir: false, maxDbs: 8, ...binary });
}

function armedIn(raw: Raw): Buffer[] {
  const table = raw.openDB<Buffer, Buffer>({ name: 'checkpoint', ...binary });
  const keys = Array.from(table.getKeys(), (key) => Buffer.from(key));
  return keys.filter((key) => key.toString('latin1').startsWith('armed\0'));
}

/** A store of generation 7, and a look past its fence. */
function withStore(use: (state: LmdbState, raw: Raw, directory: string) => Promise<void>) {
  return withTemporaryDirectory(async (directory) => {
    const state = await openLmdbState({ directory, permit: testPermit(7) });
    const raw = openRaw(directory);
    await use(state, raw, directory);
    await raw.close();
    await state.close();
  });
}

describe('a block of writes in the thread of LMDB', () => {
  it('is all or nothing when one of its puts fails, and so is what shares its transaction (FEN-406)', () =>
    withTemporaryDirectory(async (directory) => {
      const raw = open<Buffer, Buffer>({
        path: directory,
        noSubdir: false,
        maxDbs: 8,
        eventTurnBatching: false,
        ...binary,
      });
      const table = raw.openDB<Buffer, Buffer>({ name: 'dedup', ...binary });
      const guard = Buffer.from('guard');
      await table.put(guard, guard);
      // A table that the environment does not have: its put fails natively, as one on a damaged page does.
      const none = Object.create(table, {
        db: { value: { dbi: 7 } },
      }) as Database<Buffer, Buffer>;
      const beside = table.put(Buffer.from('beside'), guard);
      const block = table.ifVersion(guard, IF_EXISTS, () => {
        void table.put(Buffer.from('before'), guard);
        void none.put(Buffer.from('fails'), guard);
        void table.put(Buffer.from('after'), guard);
      });
      for (const one of await Promise.allSettled([beside, block])) {
        expect(one).toMatchObject({ status: 'rejected' });
        const { reason } = one as { reason: { commitError: Promise<unknown> } };
        await expect(reason.commitError).rejects.toThrow();
      }
      for (const key of ['beside', 'before', 'fails', 'after'])
        expect(table.get(Buffer.from(key)), key).toBeUndefined();
      await table.put(Buffer.from('later'), guard);
      expect(table.get(Buffer.from('later'))).toEqual(guard);
      await raw.close();
    }));

  it('is shut out by a generation that another process raises before it runs (P6, FEN-401)', () =>
    withStore(async (state, _raw, directory) => {
      await state.write(testPermit(7), idsOf('first'));
      const late = state.write(testPermit(7), idsOf('late'));
      // The thread begins in the next turn: this one is still going on.
      const raised = spawnSync(process.execPath, [raiserScript, directory, '8'], {
        encoding: 'utf8',
      });
      expect(raised.stderr).toBe('');
      await expect(late).rejects.toMatchObject({ code: 'FENCE_STALE' });
      expect(state.getDedup(testKey(), 'first')).toEqual(entry);
      expect(state.getDedup(testKey(), 'late')).toBeUndefined();
    }));

  it('is shut out by a mark that a program without such blocks has raised (FEN-401)', () =>
    withStore(async (state, raw) => {
      const late = state.write(testPermit(7), idsOf('late'));
      const mark = { v: 1, domain: testPermit().domain, generation: 8, holder: 'x' };
      raw.transactionSync(() =>
        raw.putSync(markKey, seal(markKey, Buffer.from(JSON.stringify(mark)))),
      );
      expect(armedIn(raw).length).toBe(1);
      await expect(late).rejects.toMatchObject({ code: 'FENCE_STALE' });
      expect(state.getDedup(testKey(), 'late')).toBeUndefined();
    }));

  it('is shut out by a mark of the same checksum: the entry of its holder is gone (FEN-401)', () =>
    withStore(async (state, raw) => {
      const table = raw.openDB<Buffer, Buffer>({ name: 'checkpoint', ...binary });
      const late = state.write(testPermit(7), idsOf('late'));
      const mark = { v: 1, domain: testPermit().domain, generation: 8, holder: 'x' };
      const alike = seal(markKey, Buffer.from(JSON.stringify(mark)));
      raw.get(markKey)?.copy(alike, 0, 0, 8);
      raw.transactionSync(() => {
        raw.putSync(markKey, alike);
        for (const key of armedIn(raw)) table.removeSync(key);
      });
      await expect(late).rejects.toMatchObject({ code: 'STATE_CORRUPT' });
      expect(state.getDedup(testKey(), 'late')).toBeUndefined();
    }));

  it('finds its entry made in a store that has none, and leaves one alone (FEN-403)', () =>
    withTemporaryDirectory(async (directory) => {
      const first = await openLmdbState({ directory, permit: testPermit(7) });
      const raw = openRaw(directory);
      const table = raw.openDB<Buffer, Buffer>({ name: 'checkpoint', ...binary });
      const [old] = armedIn(raw);
      raw.transactionSync(() => {
        for (const key of armedIn(raw)) table.removeSync(key);
      });
      await first.write(testPermit(7), idsOf('a'));
      expect(armedIn(raw)).toEqual([old]);
      await first.close();
      const next = await openLmdbState({ directory, permit: testPermit(8) });
      await next.write(testPermit(8), idsOf('b'));
      const after = armedIn(raw);
      expect(after.length).toBe(1);
      expect(after).not.toEqual([old]);
      for (const id of ['a', 'b']) expect(next.getDedup(testKey(), id)).toEqual(entry);
      const walk: Walk = { fault: undefined };
      for (const one of walkState(raw, walk)) void one;
      expect(walk.fault).toBeUndefined();
      await raw.close();
      await next.close();
    }));

  it('keeps its order beside writes that must raise the mark first, and is flushed with them (FEN-407)', () =>
    withStore(async (state) => {
      const at = (offset: number): StateWrite[] => [
        { table: 'dedup', key: testKey(), eventId: 'id', entry: { ...entry, offset } },
      ];
      const writes = [
        state.write(testPermit(7), at(1)),
        state.write(testPermit(8), at(2)),
        state.write(testPermit(8), at(3)),
      ];
      await state.flush();
      expect(state.getDedup(testKey(), 'id')?.offset).toBe(3);
      await Promise.all(writes);
      const ended = state.write(testPermit(7), at(4));
      await expect(ended).rejects.toMatchObject({ code: 'FENCE_STALE' });
      const forgotten = state.forgetIds(testPermit(8), testKey(), {
        from: { ordinal: 0, offset: 0 },
      });
      await Promise.all([forgotten, state.write(testPermit(8), at(5))]);
      expect(state.getDedup(testKey(), 'id')?.offset).toBe(5);
    }));
});
