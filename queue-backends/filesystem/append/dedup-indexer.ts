import { assert, type Clock } from '#base';
import type { FencePermit } from '#fence';
import { hashOfId, type DedupEntry, type StateStore, type StateWrite } from '#state';
import { IdFilters } from './id-filter.ts';
import type { KeyState, RecentId } from '../session/key-state.ts';

/** Ids of one write: handing them over holds the loop for less than 1 ms, and LMDB's thread is at work on them meanwhile. */
const writesMax = 500;
/** Ids that are given their place in one turn of the loop. */
const placedMax = 500;
/** Entries in memory while a log or a journal is read again. */
const waitingMax = 20_000;
/** Places in a list of ids that share a number with the beginning of a hash: 2^32 of these and 2^20 of those are exact. */
const placesMax = 2 ** 20;

/** What a key's own map holds of it, too: one object for each id, and not four. */
interface WaitingId extends RecentId {
  readonly state: KeyState;
  readonly id: string;
  /** Once it was given its place in the order of the store. */
  hash: string | undefined;
  /** Of the last one of its key: where the log is indexed to once it is put. */
  through: number | undefined;
}

/**
 * Carries event ids of durable records into the state store, behind the journal. Until an id is there it is found in the key's own map, and a
 * checkpoint waits for all of them (ING-513).
 */
export class DedupIndexer {
  readonly #state: StateStore;
  readonly #permit: FencePermit;
  readonly #clock: Clock;
  /** For keys that begin in this life of the process. */
  readonly filters: IdFilters = new IdFilters();
  /** As they came. */
  #waiting: WaitingId[] = [];
  /** Those that are being given their places. */
  #placing = 0;
  /** From `#next` on, in the order of the writes; those of one key stand together. */
  #grouped: WaitingId[] = [];
  #next = 0;
  #running: Promise<void> | undefined;
  #trouble: { readonly error: unknown; readonly since: number } | undefined;

  constructor(state: StateStore, permit: FencePermit, clock: Clock) {
    this.#state = state;
    this.#permit = permit;
    this.#clock = clock;
  }

  /** Of an id: what the key's own map says, else the store, unless the id cannot be there. */
  find(state: KeyState, id: string): DedupEntry | undefined {
    const recent = state.recent.get(id);
    if (recent !== undefined) return recent.entry;
    const { ids } = state;
    if (ids !== undefined && !ids.filter.mayHave(ids.salt, id)) return undefined;
    return this.#state.getDedup(state.key, id);
  }

  add(state: KeyState, id: string, entry: DedupEntry): void {
    state.ids?.filter.add(state.ids.salt, id);
    const waiting: WaitingId = {
      state,
      id,
      entry,
      inFlight: undefined,
      hash: undefined,
      through: undefined,
    };
    state.recent.set(id, waiting);
    this.#waiting.push(waiting);
  }

  get waitingCount(): number {
    return this.#waiting.length + this.#placing + this.#grouped.length - this.#next;
  }

  /** Why the state store could not be written, while it lasts: the ids are safe in the journal. */
  get trouble(): { readonly error: unknown; readonly since: number } | undefined {
    return this.#trouble;
  }

  /** For whoever adds many at once: what waits stays below a bound. */
  async drainIfCrowded(): Promise<void> {
    if (this.waitingCount > waitingMax) await this.drain();
  }

  /** Resolves when everything added before is visible in the store. */
  async drain(): Promise<void> {
    while (this.waitingCount > 0 || this.#running !== undefined) {
      this.#running ??= this.#writeSome().finally(() => {
        this.#running = undefined;
      });
      await this.#running;
    }
  }

  /**
   * Ids are hashed, so each one of a key lies in a page of its own that has to be copied and written, and a transaction of a few hundred of them as they come
   * writes as many pages. Side by side in the order of the store they share their pages: so many of a key as wait, over all transactions of the group.
   */
  async #group(): Promise<void> {
    const all = this.#waiting;
    this.#waiting = [];
    this.#placing = all.length;
    const byKey = new Map<KeyState, WaitingId[]>();
    for (let at = 0; at < all.length; at += placedMax) {
      if (at > 0) await this.#clock.endOfTurn();
      for (const one of all.slice(at, at + placedMax)) {
        one.hash = hashOfId(one.id);
        const some = byKey.get(one.state);
        if (some === undefined) byKey.set(one.state, [one]);
        else some.push(one);
      }
    }
    const grouped: WaitingId[] = [];
    let sorted = 0;
    for (const some of byKey.values()) {
      sorted += some.length;
      if (sorted > placedMax) {
        sorted = some.length;
        await this.#clock.endOfTurn();
      }
      for (const one of inOrder(some)) grouped.push(one);
    }
    this.#placing = 0;
    this.#grouped = grouped;
    this.#next = 0;
  }

  async #writeSome(): Promise<void> {
    if (this.#next === this.#grouped.length) await this.#group();
    const some = this.#grouped.slice(this.#next, this.#next + writesMax);
    const writes: StateWrite[] = [];
    for (const { state, id, hash, entry, through } of some) {
      writes.push({
        table: 'dedup',
        key: state.key,
        eventId: id,
        hash: hash ?? hashOfId(id),
        entry,
      });
      if (through === undefined) continue;
      // Entries of a key come in log order, but a letter brings an old one again: progress never falls.
      state.indexedThrough = Math.max(state.indexedThrough, through);
      const progress = { epoch: state.epoch, indexedThrough: state.indexedThrough };
      writes.push({ table: 'progress', key: state.key, progress });
    }
    try {
      await this.#state.write(this.#permit, writes);
      this.#trouble = undefined;
    } catch (error) {
      this.#trouble = { error, since: this.#trouble?.since ?? this.#clock.now() };
      throw error;
    }
    this.#next += some.length;
    if (this.#next === this.#grouped.length) {
      this.#grouped = [];
      this.#next = 0;
    }
    for (const { state, id, entry } of some)
      if (state.recent.get(id)?.entry === entry) state.recent.delete(id);
  }
}

/** By their hashes; of two entries of one id the later one stands last. Numbers are sorted natively, in a fifth of the time that a comparison takes. */
function inOrder(some: readonly WaitingId[]): WaitingId[] {
  assert(some.length <= placesMax, 'an index of ids is bounded by what may wait');
  const order = new Float64Array(some.length);
  let through = 0;
  some.forEach(({ hash = '', entry }, at) => {
    order[at] = firstBitsOf(hash) * placesMax + at;
    through = Math.max(through, entry.offset + entry.length);
  });
  order.sort();
  const placed: WaitingId[] = [];
  for (const number of order) {
    const one = some[number % placesMax];
    if (one !== undefined) placed.push(one);
  }
  const last = placed.at(-1);
  if (last !== undefined) last.through = through;
  return placed;
}

/** 32 bits of a hash: enough to put ids side by side. */
function firstBitsOf(hash: string): number {
  const low = (hash.charCodeAt(1) << 16) | (hash.charCodeAt(2) << 8) | hash.charCodeAt(3);
  return hash.charCodeAt(0) * 2 ** 24 + low;
}
