import { createHash } from 'node:crypto';
import { type Database, type RootDatabase, open } from 'lmdb';
import { formatTooNew } from '#base';
import { type FencePermit, fenceLost, fenceStale } from '#fence';
import type { Key } from '#record';
import type { DedupEntry, DedupProgress, KeyRow, StateStore, StateWrite } from './state-store.ts';

export interface LmdbStateOptions {
  /** `<root>/state/daemon` */
  readonly directory: string;
  readonly permit: FencePermit;
}

const formatVersion = 1;
const formatKey = 'format';
const markKey = 'mark';

interface Mark {
  readonly domain: string;
  readonly generation: number;
}

/**
 * The state store in LMDB. The mark is checked and raised in the transaction that writes (FEN-406), so a stopped predecessor's write finds the
 * higher one and nothing of it lands (P6).
 */
export async function openLmdbState(options: LmdbStateOptions): Promise<StateStore> {
  const root = open({ path: options.directory, maxDbs: 8, encoding: 'json', noSubdir: false });
  const meta = root.openDB<unknown, string>({ name: 'meta', encoding: 'json' });
  const found = (meta.get(formatKey) as number | undefined) ?? formatVersion;
  if (found > formatVersion) {
    await root.close();
    throw formatTooNew({
      thing: `the state store ${options.directory}`,
      found,
      known: formatVersion,
    });
  }
  const store = new LmdbState(root, meta);
  await store.write(options.permit, []);
  return store;
}

class LmdbState implements StateStore {
  readonly #root: RootDatabase;
  readonly #meta: Database<unknown, string>;
  readonly #dedup: Database<DedupEntry, Buffer>;
  readonly #progress: Database<DedupProgress, string>;
  readonly #rows: Database<KeyRow, string>;

  constructor(root: RootDatabase, meta: Database<unknown, string>) {
    this.#root = root;
    this.#meta = meta;
    this.#dedup = root.openDB({ name: 'dedup_event', encoding: 'json', keyEncoding: 'binary' });
    this.#progress = root.openDB({ name: 'dedup_progress', encoding: 'json' });
    this.#rows = root.openDB({ name: 'session_key', encoding: 'json' });
  }

  getDedup(key: Key, eventId: string): DedupEntry | undefined {
    return this.#dedup.get(dedupKey(key, eventId));
  }

  getProgress(key: Key): DedupProgress | undefined {
    return this.#progress.get(key);
  }

  getRow(key: Key): KeyRow | undefined {
    return this.#rows.get(key);
  }

  async write(permit: FencePermit, writes: readonly StateWrite[]): Promise<void> {
    if (!permit.isLive) throw fenceLost({ domain: permit.domain, generation: permit.generation });
    const mark = await this.#root.childTransaction(() => this.#writeInside(permit, writes));
    if (mark !== undefined)
      throw fenceStale({
        domain: permit.domain,
        thing: 'the state store',
        generation: permit.generation,
        mark,
      });
  }

  async flush(): Promise<void> {
    // A resolved write is visible, not yet on disk (FEN-407).
    await this.#root.flushed;
  }

  async close(): Promise<void> {
    await this.#root.flushed;
    await this.#root.close();
  }

  /** Returns the higher mark that refuses the write; undefined when it was done. */
  #writeInside(permit: FencePermit, writes: readonly StateWrite[]): number | undefined {
    const mark = this.#meta.get(markKey) as Mark | undefined;
    if (mark !== undefined && mark.generation > permit.generation) return mark.generation;
    if (mark?.generation !== permit.generation)
      this.#meta.putSync(markKey, {
        domain: permit.domain,
        generation: permit.generation,
      } satisfies Mark);
    if (mark === undefined) this.#meta.putSync(formatKey, formatVersion);
    for (const write of writes) this.#put(write);
    return undefined;
  }

  #put(write: StateWrite): void {
    switch (write.table) {
      case 'dedup': {
        const key = dedupKey(write.key, write.eventId);
        if (write.entry === null) this.#dedup.removeSync(key);
        else this.#dedup.putSync(key, write.entry);
        return;
      }
      case 'progress':
        if (write.progress === null) this.#progress.removeSync(write.key);
        else this.#progress.putSync(write.key, write.progress);
        return;
      case 'row':
        if (write.row === null) this.#rows.removeSync(write.key);
        else this.#rows.putSync(write.key, write.row);
    }
  }
}

/** Key, a zero byte that no key contains, and 16 bytes of the id's hash (ING-516). */
function dedupKey(key: Key, eventId: string): Buffer {
  const hash = createHash('sha256').update(eventId).digest().subarray(0, 16);
  return Buffer.concat([Buffer.from(key, 'latin1'), Buffer.of(0), hash]);
}
