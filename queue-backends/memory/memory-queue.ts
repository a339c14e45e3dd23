import { systemChance, systemClock, type Chance, type Clock } from '#base';
import type { FencePermit } from '#fence';
import {
  createKeyLocks,
  draining,
  queueLimitsDefault,
  queueProtocolVersion,
  type Batch,
  type BatchItem,
  type QueueBackend,
  type QueueLedger,
  type QueueLimits,
  type QueuePlug,
} from '#queue';
import type { Key, Position } from '#record';
import { append } from './append.ts';
import { digestEndingAt, listStatus, quarantine, readTotals, statusOf } from './books.ts';
import { commit, refuseQuarantined } from './commit.ts';
import { forgetIdle, type Engine } from './engine.ts';
import { FrameLine } from './frame-line.ts';
import { armStore, type MemoryStore } from './memory-store.ts';
import { committedOffset, cursorOf, positionAt, type StoredKey } from './stored-key.ts';

export interface MemoryQueueOptions {
  readonly store: MemoryStore;
  readonly permit: FencePermit;
  readonly clock?: Clock;
  readonly chance?: Chance;
  readonly limits?: Partial<QueueLimits>;
}

const lockWarnMs = 2000;

/** Every duty of a queue but that of outliving the process: for tests, and as the upper bound of benches (ING-108). */
export const memoryPlug: QueuePlug<MemoryQueueOptions> = {
  name: 'memory',
  implementsProtocol: '^1.0.0',
  open: async (options) => openMemoryQueue(options),
};

/** Raises the store's mark to the permit's generation (FEN-403); FENCE_STALE when it is below. */
export function openMemoryQueue(options: MemoryQueueOptions): QueueBackend & QueueLedger {
  const { store, permit, clock = systemClock, chance = systemChance } = options;
  armStore(store, permit);
  const engine: Engine = {
    store,
    permit,
    clock,
    chance,
    limits: { ...queueLimitsDefault, ...options.limits },
    locks: createKeyLocks({ clock, warnMs: lockWarnMs }),
    line: new FrameLine(store, permit, () => forgetIdle(engine)),
    live: new Map(),
    inFlightBytes: 0,
    isClosing: false,
  };
  return new MemoryQueue(engine);
}

class MemoryQueue implements QueueBackend, QueueLedger {
  readonly protocolVersion: string = queueProtocolVersion;
  readonly capabilities = { fsync: 'group', ordered: true, logStructured: false } as const;
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  append: QueueBackend['append'] = (records, options = {}) =>
    append(this.#engine, records, options);

  readBatch: QueueBackend['readBatch'] = (key, max) =>
    this.#underGuard(key, (stored) => {
      if (stored === undefined) return { key, start: '' as Position, items: [] };
      refuseQuarantined(stored);
      return batchOf(stored, max);
    });

  commit: QueueBackend['commit'] = (key, after, cursor, applied) =>
    commit(this.#engine, { key, after, cursor, applied, letters: [] });

  readCursor: QueueBackend['readCursor'] = (key) =>
    this.#underGuard(key, (stored) => (stored === undefined ? null : cursorOf(stored)));

  deadLetter: QueueBackend['deadLetter'] = (key, letters, after, cursor) =>
    commit(this.#engine, { key, after, cursor, applied: null, letters });

  readDeadLetters: QueueBackend['readDeadLetters'] = (key) =>
    this.#underGuard(key, (stored) =>
      [...(stored?.letters.values() ?? [])].map(({ letter }) => letter),
    );

  async activeKeys(): Promise<readonly Key[]> {
    this.#refuseClosed();
    return [...this.#engine.store.active];
  }

  async close(): Promise<void> {
    this.#engine.isClosing = true;
    await this.#engine.line.settled();
    this.#engine.locks.close();
  }

  totals: QueueLedger['totals'] = () => readTotals(this.#engine);

  keyStatus: QueueLedger['keyStatus'] = (key) =>
    this.#underGuard(key, (stored) => (stored === undefined ? undefined : statusOf(stored)));

  listKeys: QueueLedger['listKeys'] = async (page) => {
    this.#refuseClosed();
    return listStatus(this.#engine, page);
  };

  digestEndingAt: QueueLedger['digestEndingAt'] = (key, after) =>
    this.#underGuard(key, () => digestEndingAt(this.#engine, key, after));

  quarantine: QueueLedger['quarantine'] = (key, fault) => quarantine(this.#engine, key, fault);

  trouble: QueueLedger['trouble'] = () => [];

  async #underGuard<T>(key: Key, read: (stored: StoredKey | undefined) => T): Promise<T> {
    return this.#engine.locks.with(key, async () => {
      this.#refuseClosed();
      return read(this.#engine.store.keys.get(key));
    });
  }

  #refuseClosed(): void {
    if (this.#engine.isClosing) throw draining({ what: 'the queue' });
  }
}

/** At least one record if there is one, whatever the limits (ING-402). */
function batchOf(
  stored: StoredKey,
  max: { readonly records: number; readonly bytes: number },
): Batch {
  const { key, epoch, records, committedCount } = stored;
  const items: BatchItem[] = [];
  let bytes = 0;
  for (let at = committedCount; at < records.length; at += 1) {
    const record = records[at];
    if (record === undefined) break;
    const size = record.end - record.offset;
    if (items.length > 0 && (items.length >= max.records || bytes + size > max.bytes)) break;
    bytes += size;
    items.push({
      raw: Buffer.from(record.raw),
      at: positionAt(epoch, record.offset),
      after: positionAt(epoch, record.end),
    });
  }
  return { key, start: positionAt(epoch, committedOffset(stored)), items };
}
