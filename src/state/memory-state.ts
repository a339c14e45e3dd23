import { type FencePermit, fenceStale } from '#fence';
import type { Key } from '#record';
import type { DedupEntry, DedupProgress, KeyRow, StateStore, StateWrite } from './state-store.ts';

/** A state store without a disk: for tests, and for crash sweeps that hand back any snapshot between the last flush and now. */
export interface MemoryState extends StateStore {
  snapshot(): MemorySnapshot;
  restore(snapshot: MemorySnapshot): void;
  /** What the last `flush` made durable: the oldest snapshot that a power loss can leave. */
  flushed(): MemorySnapshot;
}

export interface MemorySnapshot {
  readonly dedup: ReadonlyMap<string, DedupEntry>;
  readonly progress: ReadonlyMap<Key, DedupProgress>;
  readonly rows: ReadonlyMap<Key, KeyRow>;
  readonly mark: number;
}

export function memoryState(): MemoryState {
  let dedup = new Map<string, DedupEntry>();
  let progress = new Map<Key, DedupProgress>();
  let rows = new Map<Key, KeyRow>();
  let mark = 0;
  const snapshot = (): MemorySnapshot => ({
    dedup: new Map(dedup),
    progress: new Map(progress),
    rows: new Map(rows),
    mark,
  });
  let flushed = snapshot();
  const put = (write: StateWrite): void => {
    if (write.table === 'dedup') setOrDelete(dedup, `${write.key} ${write.eventId}`, write.entry);
    else if (write.table === 'progress') setOrDelete(progress, write.key, write.progress);
    else setOrDelete(rows, write.key, write.row);
  };
  return {
    getDedup: (key, eventId) => dedup.get(`${key} ${eventId}`),
    getProgress: (key) => progress.get(key),
    getRow: (key) => rows.get(key),
    write(permit: FencePermit, writes) {
      if (permit.generation < mark)
        return Promise.reject(
          fenceStale({
            domain: permit.domain,
            thing: 'the state store',
            generation: permit.generation,
            mark,
          }),
        );
      mark = permit.generation;
      for (const write of writes) put(write);
      return Promise.resolve();
    },
    flush() {
      flushed = snapshot();
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
    snapshot,
    flushed: () => flushed,
    restore(from) {
      dedup = new Map(from.dedup);
      progress = new Map(from.progress);
      rows = new Map(from.rows);
      mark = from.mark;
    },
  };
}

function setOrDelete<K, V>(map: Map<K, V>, key: K, value: V | null): void {
  if (value === null) map.delete(key);
  else map.set(key, value);
}
