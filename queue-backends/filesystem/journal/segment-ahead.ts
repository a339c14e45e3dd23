import { join } from 'node:path';
import type { Disk, DiskFile } from '#disk';

/** A group that is written meanwhile waits for one such piece at most. */
const pieceBytes = 1024 * 1024;

/** Nothing is made before the current segment is so full, and all is there when it is that full: a quarter is left for a slow disk. */
const beginsAt = 0.25;
const endsAt = 0.75;

/** How many bytes of the next segment are to be there when the current one is filled up to `end`. Pure. */
export function aheadBytes(end: number, size: number): number {
  const share = (end / size - beginsAt) / (endsAt - beginsAt);
  return Math.ceil(size * Math.min(1, Math.max(0, share)));
}

/** The file of the next segment in the making: created exclusively, zero-filled, synced (QFS-05, QFS-40). */
export class SegmentAhead {
  readonly name: string;
  readonly file: DiskFile;
  readonly size: number;
  readonly #disk: Disk;
  readonly #path: string;
  #filledBytes = 0;

  private constructor(
    disk: Disk,
    path: string,
    made: Pick<SegmentAhead, 'name' | 'file' | 'size'>,
  ) {
    this.name = made.name;
    this.file = made.file;
    this.size = made.size;
    this.#disk = disk;
    this.#path = path;
  }

  static async open(
    { disk, directory }: { readonly disk: Disk; readonly directory: string },
    name: string,
    size: number,
  ): Promise<SegmentAhead> {
    const path = join(directory, name);
    const file = await disk.open(path, 'create');
    return new SegmentAhead(disk, path, { name, file, size });
  }

  get filledBytes(): number {
    return this.#filledBytes;
  }

  /** Each piece is on disk before the next is written: 64 MiB at once would hold up the groups beside them for a tenth of a second. */
  async fillTo(bytes: number): Promise<void> {
    while (this.#filledBytes < Math.min(bytes, this.size)) {
      const piece = Buffer.alloc(Math.min(pieceBytes, this.size - this.#filledBytes));
      await this.file.writeAt([piece], this.#filledBytes);
      await this.file.sync();
      this.#filledBytes += piece.length;
    }
  }

  async discard(): Promise<void> {
    await this.file.close();
    await this.#disk.unlink(this.#path);
  }
}
