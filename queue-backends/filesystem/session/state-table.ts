import type { Key } from '#record';
import { type KeyState, type TailMemory, isEvictable } from './key-state.ts';

/** Idle keys that stay in memory for their next event. */
const idleStatesMax = 4096;

/** The keys in memory. A key that is idle is read again from its files when it is needed (QFS-15). */
export class StateTable {
  readonly memory: TailMemory = { bytes: 0 };
  readonly #states = new Map<Key, KeyState>();
  #tick = 0;

  get size(): number {
    return this.#states.size;
  }

  /** The key's state if it is in memory. */
  get(key: Key): KeyState | undefined {
    const state = this.#states.get(key);
    if (state !== undefined) state.lastUsed = this.#tick += 1;
    return state;
  }

  put(state: KeyState): void {
    state.lastUsed = this.#tick += 1;
    this.#states.set(state.key, state);
  }

  /** Forgets a key whose epoch is over; another state may stand in its place by now. */
  remove(state: KeyState): void {
    if (this.#states.get(state.key) === state) this.#states.delete(state.key);
  }

  values(): IterableIterator<KeyState> {
    return this.#states.values();
  }

  /** Forgets idle keys beyond the limit, least recently used first; never one that somebody works with. */
  evict(isBusy: (key: Key) => boolean, limit: number = idleStatesMax): void {
    if (this.#states.size <= limit) return;
    const idle = [...this.#states.values()]
      .filter((state) => isEvictable(state) && !isBusy(state.key))
      .toSorted((a, b) => a.lastUsed - b.lastUsed);
    for (const state of idle.slice(0, this.#states.size - limit)) this.#states.delete(state.key);
  }

  /** The same, a little above the limit and so now and then only: for whoever puts many keys in. */
  evictIfCrowded(isBusy: (key: Key) => boolean): void {
    if (this.#states.size > idleStatesMax * 1.25) this.evict(isBusy);
  }
}
