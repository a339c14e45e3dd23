import type { Clock } from '#base';
import type { FencePermit } from '#fence';
import { hashOfId, type DedupEntry, type StateStore, type StateWrite } from '#state';
import { IdFilters } from './id-filter.ts';
import type { KeyState } from '../session/key-state.ts';

/** Entries of one transaction: large enough to share its cost, and small enough not to hold the loop for more than 2 to 3 ms. */
const writesMax = 500;
/** Entries in memory while a log or a journal is read again. */
const waitingMax = 20_000;

interface WaitingId {
  readonly state: KeyState;
  readonly id: string;
  readonly entry: DedupEntry;
}

/** One that was given its place in the order of the store. */
interface GroupedId extends WaitingId {
  readonly hash: string;
  readonly order: number;
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
  /** Of these a transaction takes the first; those of one key stand together. */
  #grouped: GroupedId[] = [];
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
    state.recent.set(id, { entry });
    this.#waiting.push({ state, id, entry });
  }

  get waitingCount(): number {
    return this.#waiting.length + this.#grouped.length;
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
  #group(): void {
    const byKey = new Map<KeyState, GroupedId[]>();
    for (const { state, id, entry } of this.#waiting) {
      const hash = hashOfId(id);
      const grouped = { state, id, entry, hash, order: orderOf(hash), through: undefined };
      const some = byKey.get(state);
      if (some === undefined) byKey.set(state, [grouped]);
      else some.push(grouped);
    }
    this.#waiting = [];
    for (const some of byKey.values()) {
      let through = 0;
      for (const { entry } of some) through = Math.max(through, entry.offset + entry.length);
      // The sort is stable: of two entries of one id the later one is put last.
      some.sort((a, b) => a.order - b.order);
      const last = some.at(-1);
      if (last !== undefined) last.through = through;
      for (const one of some) this.#grouped.push(one);
    }
  }

  async #writeSome(): Promise<void> {
    if (this.#grouped.length === 0) this.#group();
    const some = this.#grouped.splice(0, writesMax);
    const writes: StateWrite[] = [];
    for (const { state, id, hash, entry, through } of some) {
      writes.push({ table: 'dedup', key: state.key, eventId: id, hash, entry });
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
      this.#grouped = [...some, ...this.#grouped];
      this.#trouble = { error, since: this.#trouble?.since ?? this.#clock.now() };
      throw error;
    }
    for (const { state, id, entry } of some)
      if (state.recent.get(id)?.entry === entry) state.recent.delete(id);
  }
}

/** The first 48 bits of a hash: enough to put ids side by side. */
function orderOf(hash: string): number {
  let order = 0;
  for (let at = 0; at < 6; at += 1) order = order * 256 + hash.charCodeAt(at);
  return order;
}
