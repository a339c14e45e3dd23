import { queueFull } from '#queue';

/** Bytes of bodies in memory, counted while they come in and until their request is answered (P9). */
export class ByteBudget {
  readonly #bytesMax: number;
  #usedBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Throws QUEUE_FULL, and counts nothing, when there is no room. */
  reserve(bytes: number): void {
    this.check(bytes);
    this.#usedBytes += bytes;
  }

  /** Throws QUEUE_FULL when a body of this size would find no room now. */
  check(bytes: number): void {
    if (this.#usedBytes + bytes <= this.#bytesMax) return;
    throw queueFull({
      limit: 'memory for requests in flight',
      usedBytes: this.#usedBytes,
      limitBytes: this.#bytesMax,
    });
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}
