/** Growing bytes whose copies share storage until one of them is changed: a crash sweep copies every file at every step. */
export class MemoryBytes {
  #storage: Uint8Array;
  #isShared: boolean;
  #size: number;

  constructor(storage: Uint8Array = new Uint8Array(0), size: number = storage.length) {
    this.#storage = storage;
    this.#size = size;
    this.#isShared = size > 0;
  }

  get size(): number {
    return this.#size;
  }

  /** Valid until the next change. */
  view(): Uint8Array {
    return this.#storage.subarray(0, this.#size);
  }

  copy(): MemoryBytes {
    this.#isShared = true;
    return new MemoryBytes(this.#storage, this.#size);
  }

  write(offset: number, bytes: Uint8Array): void {
    const end = offset + bytes.length;
    this.#own(Math.max(end, this.#size));
    this.#storage.set(bytes, offset);
    this.#size = Math.max(this.#size, end);
  }

  truncate(size: number): void {
    this.#own(size);
    if (size < this.#size) this.#storage.fill(0, size, this.#size);
    this.#size = size;
  }

  /** Makes the storage ours alone and large enough; bytes past the size are always zero. */
  #own(capacity: number): void {
    if (!this.#isShared && capacity <= this.#storage.length) return;
    const grown =
      capacity > this.#storage.length ? Math.max(capacity * 2, 64) : this.#storage.length;
    const storage = new Uint8Array(grown);
    storage.set(this.view());
    this.#storage = storage;
    this.#isShared = false;
  }
}
