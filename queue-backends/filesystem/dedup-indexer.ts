import type { FencePermit } from '#fence';
import type { DedupEntry, StateStore, StateWrite } from '#state';
import type { KeyState } from './key-state.ts';

/** Entries of one transaction: large enough to share its sync, small enough not to hold the loop. */
const writesMax = 2000;

/**
 * Carries event ids of durable records into the state store, behind the journal. Until an id is there it is found in the key's own map, and a
 * checkpoint waits for all of them (ING-513).
 */
export class DedupIndexer {
  readonly #state: StateStore;
  readonly #permit: FencePermit;
  #waiting: { readonly state: KeyState; readonly id: string; readonly entry: DedupEntry }[] = [];
  #running: Promise<void> | undefined;

  constructor(state: StateStore, permit: FencePermit) {
    this.#state = state;
    this.#permit = permit;
  }

  /** Of an id: what the key's own map says, else the store. */
  find(state: KeyState, id: string): DedupEntry | undefined {
    return state.recent.get(id)?.entry ?? this.#state.getDedup(state.key, id);
  }

  add(state: KeyState, id: string, entry: DedupEntry): void {
    state.recent.set(id, { entry });
    this.#waiting.push({ state, id, entry });
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Resolves when everything added before is visible in the store. */
  async drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#running !== undefined) {
      this.#running ??= this.#writeSome().finally(() => {
        this.#running = undefined;
      });
      await this.#running;
    }
  }

  async #writeSome(): Promise<void> {
    const some = this.#waiting.splice(0, writesMax);
    const ends = new Map<KeyState, number>();
    const writes: StateWrite[] = some.map(({ state, id, entry }) => {
      ends.set(state, Math.max(ends.get(state) ?? 0, entry.offset + entry.length));
      return { table: 'dedup', key: state.key, eventId: id, entry };
    });
    for (const [state, indexedThrough] of ends)
      writes.push({
        table: 'progress',
        key: state.key,
        progress: { epoch: state.epoch, indexedThrough },
      });
    try {
      await this.#state.write(this.#permit, writes);
    } catch (error) {
      this.#waiting = [...some, ...this.#waiting];
      throw error;
    }
    for (const { state, id, entry } of some)
      if (state.recent.get(id)?.entry === entry) state.recent.delete(id);
  }
}
