import type { DiskFile } from '#disk';

/** Zeros go in pieces of this size: a group that is written meanwhile waits for one of them at most. */
const pieceBytes = 1024 * 1024;

/** Nothing is made before the current segment is so full, and all is there when it is that full: a quarter is left for a slow disk. */
const beginsAt = 0.25;
const endsAt = 0.75;

/** How many bytes of the next segment are to be there when the current one is filled up to `end`. Pure. */
export function aheadBytes(end: number, size: number): number {
  const share = (end / size - beginsAt) / (endsAt - beginsAt);
  return Math.ceil(size * Math.min(1, Math.max(0, share)));
}

/** Not synced. */
export async function writeZeros(file: DiskFile, from: number, to: number): Promise<void> {
  const zeros = Buffer.alloc(Math.min(pieceBytes, to - from));
  for (let at = from; at < to; at += zeros.length)
    await file.writeAt([zeros.subarray(0, Math.min(zeros.length, to - at))], at);
}

/** The file of the next segment in the making (QFS-05). */
export class SegmentAhead {
  readonly name: string;
  readonly file: DiskFile;
  readonly size: number;
  #filledBytes = 0;

  constructor(name: string, file: DiskFile, size: number) {
    this.name = name;
    this.file = file;
    this.size = size;
  }

  get filledBytes(): number {
    return this.#filledBytes;
  }

  /** Each piece is on disk before the next is written: 64 MiB at once would hold up the groups beside them for a tenth of a second. */
  async fillTo(bytes: number): Promise<void> {
    while (this.#filledBytes < Math.min(bytes, this.size)) {
      const end = Math.min(this.size, this.#filledBytes + pieceBytes);
      await writeZeros(this.file, this.#filledBytes, end);
      await this.file.sync();
      this.#filledBytes = end;
    }
  }
}
