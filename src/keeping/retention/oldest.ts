import type { RetainedItem, ShelfLook } from './shelf.ts';

/** Goes over any number of items and keeps the oldest `limit` of them, so that memory does not follow the root (P9). */
export class Oldest<I extends RetainedItem> {
  readonly #limit: number;
  #kept: I[] = [];
  #count = 0;
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(item: I): void {
    this.#count += 1;
    this.#bytes += item.bytes ?? 0;
    this.#kept.push(item);
    // Sorted now and then, not at each item: the cost of one is that of a comparison or two.
    if (this.#kept.length >= 2 * this.#limit + 1) this.#cut();
  }

  look(): ShelfLook<I> {
    this.#cut();
    return { bytes: this.#bytes, items: this.#kept, hasMore: this.#count > this.#kept.length };
  }

  #cut(): void {
    this.#kept = this.#kept.toSorted(byAge).slice(0, this.#limit);
  }
}

/** Oldest first; of equal age by name, so that two looks name the same. */
export function byAge(a: RetainedItem, b: RetainedItem): number {
  return a.atMs - b.atMs || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}
