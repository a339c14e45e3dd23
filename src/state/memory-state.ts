import { assert } from '#base';
import type { FencePermit } from '#fence';
import type { Key } from '#record';
import {
  decodeCheckpoint,
  decodeDedup,
  decodeEpoch,
  decodeProgress,
  decodeRow,
} from './entry-codec.ts';
import { afterPermit, type GuardMark } from './guard-mark.ts';
import { isForgotten } from './is-forgotten.ts';
import { bytesOfEpoch, bytesOfId, bytesOfKey, checkpointKey, firstIdOf } from './state-keys.ts';
import { puts, type StatePut, type Table } from './state-puts.ts';
import type { StateStore } from './state-store.ts';

/** The content of a state store at one instant. */
export interface StateSnapshot {
  readonly mark: GuardMark | undefined;
  readonly tables: Readonly<Record<Table, ReadonlyMap<string, Uint8Array>>>;
}

/** A state store without a disk, for tests: it knows what a power loss could leave of it. */
export interface MemoryState extends StateStore {
  /**
   * Every state that a power loss at this instant may leave, oldest first: the one of the last flush, and one after each write since. LMDB
   * never leaves another: a transaction is there as a whole or not at all, and none without those before it.
   */
  snapshots(): readonly StateSnapshot[];
  /** The state now, and that of the last flush. */
  snapshot(): StateSnapshot;
  flushed(): StateSnapshot;
  /** Puts a snapshot in the place of everything, as a power loss does. */
  restore(from: StateSnapshot): void;
}

/** What one write changed. */
interface Step {
  readonly mark: GuardMark | undefined;
  readonly puts: readonly StatePut[];
}

/** Opens a store with the content of a snapshot, an empty one without; arms it where a permit is given. */
export function memoryState(
  options: { readonly from?: StateSnapshot; readonly permit?: FencePermit } = {},
): MemoryState {
  const state = new MemoryTables(options.from);
  if (options.from === undefined) state.begin();
  if (options.permit !== undefined) state.arm(options.permit);
  return state;
}

class Content implements StateSnapshot {
  mark: GuardMark | undefined;
  readonly tables: Readonly<Record<Table, Map<string, Uint8Array>>>;

  constructor(from: StateSnapshot | undefined) {
    this.mark = from?.mark;
    this.tables = {
      dedup: new Map(from?.tables.dedup),
      progress: new Map(from?.tables.progress),
      row: new Map(from?.tables.row),
      epoch: new Map(from?.tables.epoch),
      checkpoint: new Map(from?.tables.checkpoint),
    };
  }

  take(step: Step): void {
    this.mark = step.mark;
    for (const { table, key, value } of step.puts) {
      const name = key.toString('latin1');
      if (value === undefined) this.tables[table].delete(name);
      else this.tables[table].set(name, value);
    }
  }
}

class MemoryTables implements MemoryState {
  #flushed: Content;
  #now: Content;
  #steps: Step[] = [];
  #isOpen = true;

  constructor(from: StateSnapshot | undefined) {
    this.#flushed = new Content(from);
    this.#now = new Content(from);
  }

  /** A new store holds no frame. */
  begin(): void {
    const [first] = puts([{ table: 'checkpoint', through: 0 }]);
    if (first !== undefined) this.#flushed.take({ mark: undefined, puts: [first] });
    this.#now = new Content(this.#flushed);
  }

  arm(permit: FencePermit): void {
    this.#take(permit, []);
    this.#settle();
  }

  getDedup: StateStore['getDedup'] = (key, eventId) => {
    const stored = this.#get('dedup', bytesOfId(key, eventId));
    return stored === undefined ? undefined : decodeDedup(stored, key);
  };

  getProgress: StateStore['getProgress'] = (key) => {
    const stored = this.#get('progress', bytesOfKey(key));
    return stored === undefined ? undefined : decodeProgress(stored, key);
  };

  getRow: StateStore['getRow'] = (key) => {
    const stored = this.#get('row', bytesOfKey(key));
    return stored === undefined ? undefined : decodeRow(stored, key);
  };

  getEpoch: StateStore['getEpoch'] = (key, ordinal) => {
    const stored = this.#get('epoch', bytesOfEpoch(key, ordinal));
    return stored === undefined ? undefined : decodeEpoch(stored, key);
  };

  checkpointedThrough(): number | undefined {
    const stored = this.#get('checkpoint', checkpointKey);
    return stored === undefined ? undefined : decodeCheckpoint(stored);
  }

  rowKeys: StateStore['rowKeys'] = ({ after = '', limit }) => {
    assert(this.#isOpen, 'the state store is open');
    const names = [...this.#now.tables.row.keys()].filter((name) => name > after).toSorted();
    return names.slice(0, limit).map((name) => name as Key);
  };

  forgetIds: StateStore['forgetIds'] = async (permit, key, which) => {
    const first = firstIdOf(key).toString('latin1');
    const gone = [...this.#now.tables.dedup]
      .filter(([name]) => name.startsWith(first))
      .filter(([, value]) => isForgotten(decodeDedup(value, key), which));
    this.#take(
      permit,
      gone.map(([name]) => ({
        table: 'dedup',
        key: Buffer.from(name, 'latin1'),
        value: undefined,
      })),
    );
    return gone.length;
  };

  write: StateStore['write'] = async (permit, writes) => this.#take(permit, puts(writes));

  async flush(): Promise<void> {
    assert(this.#isOpen, 'the state store is open');
    this.#settle();
  }

  async close(): Promise<void> {
    this.#settle();
    this.#isOpen = false;
  }

  snapshots(): readonly StateSnapshot[] {
    const found = [new Content(this.#flushed)];
    for (const step of this.#steps) {
      const next = new Content(found.at(-1));
      next.take(step);
      found.push(next);
    }
    return found;
  }

  snapshot(): StateSnapshot {
    return new Content(this.#now);
  }

  flushed(): StateSnapshot {
    return new Content(this.#flushed);
  }

  restore(from: StateSnapshot): void {
    this.#flushed = new Content(from);
    this.#now = new Content(from);
    this.#steps = [];
    this.#isOpen = true;
  }

  #get(table: Table, key: Buffer): Uint8Array | undefined {
    assert(this.#isOpen, 'the state store is open');
    return this.#now.tables[table].get(key.toString('latin1'));
  }

  #take(permit: FencePermit, changes: readonly StatePut[]): void {
    assert(this.#isOpen, 'the state store is open');
    const before = this.#now.mark;
    const step: Step = { mark: afterPermit(before, permit, 'memory') ?? before, puts: changes };
    this.#now.take(step);
    this.#steps.push(step);
  }

  #settle(): void {
    for (const step of this.#steps) this.#flushed.take(step);
    this.#steps = [];
  }
}
