import { describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import { FencePermit } from '#fence';
import { hashOfId, memoryState, type DedupEntry, type StateStore, type StateWrite } from '#state';
import { DedupIndexer } from '../../../queue-backends/filesystem/append/dedup-indexer.ts';
import {
  newKeyState,
  type KeyState,
} from '../../../queue-backends/filesystem/session/key-state.ts';
import { StateTable } from '../../../queue-backends/filesystem/session/state-table.ts';
import { testKey } from '../../support/queue-fixtures.ts';

const permit = FencePermit.issue('daemon:SR-1', 1, 'test', () => true);
const perKey = 300;

interface Indexed {
  readonly store: StateStore;
  readonly indexer: DedupIndexer;
  readonly states: readonly KeyState[];
  /** Of each transaction. */
  readonly written: (readonly StateWrite[])[];
  /** Writes that fail before one succeeds. */
  failures: number;
}

function entryAt(offset: number): DedupEntry {
  return { ordinal: 0, offset, length: 10, status: 'live', isDerivedId: false };
}

/** Ten sessions whose records came in turns. */
function indexed(): Indexed {
  const store = memoryState({ permit });
  const written: (readonly StateWrite[])[] = [];
  const table = new StateTable();
  const states = Array.from({ length: 10 }, (_, at) =>
    newKeyState(testKey(`k${at}`), 'e', 0, table.memory),
  );
  const all: Indexed = {
    store,
    states,
    written,
    failures: 0,
    indexer: new DedupIndexer(
      {
        ...store,
        getDedup: store.getDedup,
        async write(held, writes) {
          if (all.failures > 0) {
            all.failures -= 1;
            throw new Error('the disk is full');
          }
          written.push(writes);
          await store.write(held, writes);
        },
      },
      permit,
      systemClock,
    ),
  };
  for (let at = 0; at < perKey; at += 1)
    for (const state of states) all.indexer.add(state, `id-${at}`, entryAt(at * 10));
  return all;
}

function check({ store, states, indexer }: Indexed): void {
  expect(indexer.waitingCount).toBe(0);
  for (const state of states) {
    expect(state.recent.size).toBe(0);
    expect(store.getProgress(state.key)?.indexedThrough).toBe(perKey * 10);
    for (let at = 0; at < perKey; at += 1)
      expect(store.getDedup(state.key, `id-${at}`)?.offset).toBe(at * 10);
  }
}

describe('the index of ids', () => {
  it('takes what waits session by session, in few transactions (ING-513)', async () => {
    const all = indexed();
    await all.indexer.drain();
    check(all);
    const progress = all.written.flat().filter(({ table }) => table === 'progress');
    // One for each session, and one more where a session stands in two transactions.
    expect(progress.length).toBeLessThanOrEqual(all.states.length + all.written.length);
  });

  it('never says more of a log than it has put (ING-513)', async () => {
    const all = indexed();
    const put = new Map<string, Set<number>>();
    await all.indexer.drain();
    for (const write of all.written.flat()) {
      if (write.table === 'dedup') {
        const ends = put.get(write.key) ?? new Set();
        put.set(write.key, ends.add((write.entry?.offset ?? 0) + (write.entry?.length ?? 0)));
      }
      if (write.table !== 'progress') continue;
      const through = write.progress?.indexedThrough ?? 0;
      expect(through).toBeGreaterThan(0);
      for (let end = 10; end <= through; end += 10) expect(put.get(write.key)).toContain(end);
    }
  });

  it('puts ids of a session in the order of the store, so that they share its pages', async () => {
    const all = indexed();
    await all.indexer.drain();
    const last = new Map<string, string>();
    for (const write of all.written.flat()) {
      if (write.table !== 'dedup') continue;
      const hash = hashOfId(write.eventId);
      expect(hash >= (last.get(write.key) ?? '')).toBe(true);
      last.set(write.key, hash);
    }
  });

  it('loses none and keeps their order when a write fails (ING-513)', async () => {
    const all = indexed();
    const [first] = all.states;
    if (first === undefined) throw new Error('there are sessions');
    all.failures = 2;
    for (let turn = 0; turn < 2; turn += 1) {
      await expect(all.indexer.drain()).rejects.toThrow('the disk is full');
      expect(all.indexer.trouble).toBeDefined();
      expect(all.indexer.find(first, 'id-7')?.offset).toBe(70);
    }
    // A letter that was moved: the later entry of an id counts.
    all.indexer.add(first, 'id-7', entryAt(perKey * 10 - 10));
    await all.indexer.drain();
    expect(all.indexer.trouble).toBeUndefined();
    expect(all.store.getDedup(first.key, 'id-7')?.offset).toBe(perKey * 10 - 10);
  });
});
