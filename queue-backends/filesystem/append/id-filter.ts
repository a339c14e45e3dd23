/** Bits of a filter, 512 KiB; with four bits for each id it is wrong for one new id in eighty when it is full. */
const bitsLog2 = 22;
const idsMax = 400_000;
/** Filters that are kept; what is older says of every id that it may be known. */
const filtersMax = 4;

/**
 * Event ids of keys that began in this life of the process, as a Bloom filter: an id that it does not hold is new for certain, and the state
 * store needs not be asked, which costs 2 µs for each event.
 */
export class IdFilter {
  #bits: Int32Array | undefined = new Int32Array(2 ** (bitsLog2 - 5));
  #count = 0;

  get isFull(): boolean {
    return this.#count >= idsMax;
  }

  /** `salt` parts the keys. */
  add(salt: number, id: string): void {
    const bits = this.#bits;
    if (bits === undefined) return;
    this.#count += 1;
    const { a, b } = hashesOf(salt, id);
    for (let n = 0; n < 4; n += 1) {
      const bit = bitAt(a, b, n);
      bits[bit >>> 5] = (bits[bit >>> 5] ?? 0) | (1 << (bit & 31));
    }
  }

  /** False only for an id that was never added. */
  mayHave(salt: number, id: string): boolean {
    const bits = this.#bits;
    if (bits === undefined) return true;
    const { a, b } = hashesOf(salt, id);
    for (let n = 0; n < 4; n += 1) {
      const bit = bitAt(a, b, n);
      if (((bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false;
    }
    return true;
  }

  /** Gives its memory back; from then on every id may be known. */
  forget(): void {
    this.#bits = undefined;
  }
}

/** What a key asks, as long as it lives in this process. */
export interface KeyFilter {
  readonly filter: IdFilter;
  readonly salt: number;
}

/** The filters of a process: new keys take the newest, and its memory is bounded (P9). */
export class IdFilters {
  readonly #filters: IdFilter[] = [new IdFilter()];
  #keys = 0;

  /** For a key of which the index holds nothing. */
  forNewKey(): KeyFilter {
    let filter = this.#filters.at(-1);
    if (filter === undefined || filter.isFull) {
      filter = new IdFilter();
      this.#filters.push(filter);
      if (this.#filters.length > filtersMax) this.#filters.shift()?.forget();
    }
    this.#keys += 1;
    return { filter, salt: this.#keys };
  }
}

/** Two hashes of a text, from which all bits are made; in both the salt comes first, so that no two keys share bits. */
function hashesOf(salt: number, id: string): { readonly a: number; readonly b: number } {
  let a = Math.imul(salt ^ 0x9e3779b9, 0x85ebca6b);
  let b = Math.imul(salt ^ 0x7f4a7c15, 0xc2b2ae35);
  for (let at = 0; at < id.length; at += 1) {
    const code = id.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995) ^ (b >>> 15);
  }
  return { a: mixed(a), b: mixed(b) | 1 };
}

function mixed(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  return half ^ (half >>> 15);
}

function bitAt(a: number, b: number, n: number): number {
  return (a + Math.imul(n, b)) >>> (32 - bitsLog2);
}
