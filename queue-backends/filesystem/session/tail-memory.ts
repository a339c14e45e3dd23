/** A stored line that is still in memory. */
export interface TailLine {
  readonly offset: number;
  /** The stored form, line break included. */
  readonly bytes: Uint8Array;
  /** Written by this process in this life, so its checksum is right. */
  readonly isOwn?: boolean;
}

/** A buffer with its lines that are still wanted: one of them holds all of it. */
interface Held {
  readonly buffer: ArrayBufferLike;
  readonly lines: Set<{ -readonly [K in keyof TailLine]: TailLine[K] }>;
  lineBytes: number;
}

/** Below it nothing is copied, however few of its bytes a buffer is held for. */
const heldBytesFree = 64 * 1024 * 1024;

/**
 * What the lines of all keys take (P9). Lines are parts of the buffer in which their group was written to the journal, up to megabytes for the sake of one
 * line: a key that nobody drains beside a busy one would hold every group in which it has a line. So where the buffers are more than 64 MiB, the lines of
 * those that are held for half of their bytes or less move into others of their size. Nothing but `bytes` of a line changes, whoever reads it at that time.
 */
export class TailMemory {
  readonly #held = new Map<ArrayBufferLike, Held>();
  /** Those that are held for half of their bytes or less, in the order in which they came to be. */
  readonly #sparse = new Set<Held>();
  /** Lines of it may still be on their way. */
  #newest: Held | undefined;
  #bytes = 0;
  #heldBytes = 0;

  /** Of the lines. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Of the buffers in which the lines are. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  add(line: TailLine): void {
    this.#bytes += line.bytes.length;
    const { buffer } = line.bytes;
    const held = this.#held.get(buffer) ?? this.#take(buffer);
    held.lines.add(line);
    held.lineBytes += line.bytes.length;
  }

  drop(line: TailLine): void {
    this.#bytes -= line.bytes.length;
    const held = this.#held.get(line.bytes.buffer);
    if (held?.lines.delete(line) !== true) return;
    held.lineBytes -= line.bytes.length;
    if (held.lines.size === 0) this.#release(held);
    else this.#noteSparse(held);
  }

  #take(buffer: ArrayBufferLike): Held {
    if (this.#newest !== undefined) this.#noteSparse(this.#newest);
    for (const held of this.#sparse) {
      if (this.#heldBytes <= heldBytesFree) break;
      this.#move(held);
    }
    const held = { buffer, lines: new Set<TailLine>(), lineBytes: 0 };
    this.#put(held);
    this.#newest = held;
    return held;
  }

  #noteSparse(held: Held): void {
    const isHeld = held.lines.size > 0;
    if (isHeld && held.lineBytes * 2 <= held.buffer.byteLength) this.#sparse.add(held);
  }

  #put(held: Held): void {
    this.#held.set(held.buffer, held);
    this.#heldBytes += held.buffer.byteLength;
  }

  #release(held: Held): void {
    this.#held.delete(held.buffer);
    this.#sparse.delete(held);
    this.#heldBytes -= held.buffer.byteLength;
    if (this.#newest === held) this.#newest = undefined;
  }

  #move(held: Held): void {
    this.#release(held);
    const { lines, lineBytes } = held;
    // Of its own, and not part of a pool.
    const copy = Buffer.allocUnsafeSlow(lineBytes);
    let at = 0;
    for (const line of lines) {
      copy.set(line.bytes, at);
      const end = at + line.bytes.length;
      line.bytes = copy.subarray(at, end);
      at = end;
    }
    this.#put({ buffer: copy.buffer, lines, lineBytes });
  }
}
