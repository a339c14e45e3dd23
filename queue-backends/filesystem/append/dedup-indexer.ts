import type { Clock } from '#base';
import type { FencePermit } from '#fence';
import type { DedupEntry, StateStore, StateWrite } from '#state';
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
  #grouped: WaitingId[] = [];
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
   * Ids are hashed, so each one of a key lies in a page of its own that has to be copied and written. The more of one key a transaction has, the more of them
   * share a page: 13 to 24 µs of all threads for an id as they come, 10 to 16 together, and one progress for all of them. Their order stays as it was.
   */
  #group(): void {
    const byKey = new Map<KeyState, WaitingId[]>();
    for (const waiting of this.#waiting) {
      const some = byKey.get(waiting.state);
      if (some === undefined) byKey.set(waiting.state, [waiting]);
      else some.push(waiting);
    }
    this.#waiting = [];
    this.#grouped = [...byKey.values()].flat();
  }

  async #writeSome(): Promise<void> {
    if (this.#grouped.length === 0) this.#group();
    const some = this.#grouped.splice(0, writesMax);
    const states = new Set<KeyState>();
    const writes: StateWrite[] = some.map(({ state, id, entry }) => {
      states.add(state);
      // Entries of a key come in log order, but a letter brings an old one again: progress never falls.
      state.indexedThrough = Math.max(state.indexedThrough, entry.offset + entry.length);
      return { table: 'dedup', key: state.key, eventId: id, entry };
    });
    for (const { key, epoch, indexedThrough } of states)
      writes.push({ table: 'progress', key, progress: { epoch, indexedThrough } });
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
