import { assert } from '#base';
import type { Key } from '#record';
import { type KeyState, isEvictable } from './key-state.ts';
import { TailMemory } from './tail-memory.ts';

/** Idle keys that stay in memory for their next event. */
const idleStatesMax = 4096;
const looksPerPut = 128;

/** The keys in memory. A key that is idle is read again from its files when it is needed (QFS-15). */
export class StateTable {
  readonly memory: TailMemory = new TailMemory();
  readonly #states = new Map<Key, KeyState>();
  #tick = 0;
  /** Where the last sweep stopped; the ticks when the round before began, and this one. */
  #hand: Iterator<KeyState> | undefined;
  #roundTick = 0;
  #lastRoundTick = 0;

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

  /** Forgets idle keys beyond the limit; never one that somebody works with. Looks at all keys at most twice. */
  evict(isBusy: (key: Key) => boolean, limit: number = idleStatesMax): void {
    this.#sweep(isBusy, limit, this.#states.size * 2);
  }

  /** The same from a little above the limit on, with few looks: for whoever puts a key in, so that a put costs the same however many cannot go. */
  evictIfCrowded(isBusy: (key: Key) => boolean, limit: number = idleStatesMax): void {
    if (this.#states.size > limit * 1.25) this.#sweep(isBusy, limit, looksPerPut);
  }

  /** Goes round the keys from where it stopped last; one that was used since the round before has a second chance. */
  #sweep(isBusy: (key: Key) => boolean, limit: number, looksMax: number): void {
    for (let looks = 0; looks < looksMax && this.#states.size > limit; looks += 1) {
      const state = this.#nextInRound();
      if (state.lastUsed > this.#roundTick || !isEvictable(state) || isBusy(state.key)) continue;
      this.#states.delete(state.key);
    }
  }

  #nextInRound(): KeyState {
    const next = this.#hand?.next();
    if (next?.done === false) return next.value;
    this.#hand = this.#states.values();
    this.#roundTick = this.#lastRoundTick;
    this.#lastRoundTick = this.#tick;
    const first = this.#hand.next();
    assert(first.done !== true, 'a table that is crowded has a key');
    return first.value;
  }
}
