interface Claim {
  readonly bytes: number;
  readonly grant: () => void;
}

/** Bounds the bytes that all holders have together; first come, first served. One holder may always go on, however large its claim (P9). */
export class ByteBudget {
  readonly #bytesMax: number;
  readonly #waiting: Claim[] = [];
  #heldBytes = 0;
  #isOpen = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Resolves when `bytes` are the caller's; it gives them back with `give`. */
  take(bytes: number): Promise<void> {
    if (this.#waiting.length === 0 && this.#fits(bytes)) {
      this.#heldBytes += bytes;
      return Promise.resolve();
    }
    return new Promise((grant) => {
      this.#waiting.push({ bytes, grant });
    });
  }

  /** Negative bytes add to what is held: a batch may turn out larger than its claim. */
  give(bytes: number): void {
    this.#heldBytes -= bytes;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (!this.#fits(next.bytes)) return;
      this.#waiting.shift();
      this.#heldBytes += next.bytes;
      next.grant();
    }
  }

  /** Lets everybody through, so that holders can end. */
  open(): void {
    this.#isOpen = true;
    this.give(0);
  }

  #fits(bytes: number): boolean {
    return this.#isOpen || this.#heldBytes <= 0 || this.#heldBytes + bytes <= this.#bytesMax;
  }
}
