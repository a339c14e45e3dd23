/** Texts whose bytes are kept; then all are forgotten and made again. None is longer than an id may be, so that is 8 MiB at most, and half a MiB as a rule (P9). */
const textsMax = 4096;

/** Bytes that are made of texts which come again and again, as sessions and names of events do. */
export class KnownBytes {
  readonly #make: (text: string) => string;
  readonly #known = new Map<string, Buffer>();

  constructor(make: (text: string) => string) {
    this.#make = make;
  }

  of(text: string): Buffer {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    if (this.#known.size >= textsMax) this.#known.clear();
    // Not of the pool: a small part of it would keep the whole.
    const made = this.#make(text);
    const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(made));
    bytes.write(made);
    this.#known.set(text, bytes);
    return bytes;
  }
}
