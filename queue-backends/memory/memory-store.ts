import { fenceStale, tenureLost, type FencePermit } from '#fence';
import type { Key } from '#record';
import { backlogBytes, type StoredKey } from './stored-key.ts';

/**
 * What outlives a memory queue: its disk. A queue that is dropped without being closed (a crash) loses what was not synced; a new one on
 * the same store finds the rest. With the process all of it is gone.
 */
export interface MemoryStore {
  readonly keys: Map<Key, StoredKey>;
  /** Keys with records that wait and no fault. */
  readonly active: Set<Key>;
  /** Makes a group of frames durable; a test's own may wait or fail. */
  readonly sync: () => Promise<void>;
  /** Bytes that wait, of all keys. */
  backlogBytes: number;
  guard: { readonly generation: number; readonly holder: string };
}

export function createMemoryStore(sync: () => Promise<void> = async () => undefined): MemoryStore {
  const guard = { generation: 0, holder: '' };
  return { keys: new Map(), active: new Set(), sync, backlogBytes: 0, guard };
}

/** A new writer raises the mark before it reads (FEN-403), so that an older one is shut out from then on (P6). */
export function armStore(store: MemoryStore, permit: FencePermit): void {
  assertCurrent(store, permit);
  const { generation, holder } = permit;
  store.guard = { generation, holder };
}

/** The check that stands in the same step as the write (FEN-401). */
export function assertCurrent(store: MemoryStore, permit: FencePermit): void {
  const { domain, generation, holder } = permit;
  if (!permit.isLive)
    throw tenureLost({ domain, generation, reason: 'the permit is no longer live' });
  const { guard } = store;
  const isOther = guard.generation === generation && guard.holder !== holder;
  if (guard.generation > generation || isOther)
    throw fenceStale({ domain, thing: 'the memory queue', generation, mark: guard.generation });
}

/** The one way to change a key: keeps the set of active keys and the backlog true. */
export function change(store: MemoryStore, stored: StoredKey, mutate: () => void): void {
  const before = backlogBytes(stored);
  mutate();
  store.backlogBytes += backlogBytes(stored) - before;
  if (stored.quarantine === null && stored.records.length > stored.committedCount)
    store.active.add(stored.key);
  else store.active.delete(stored.key);
}
