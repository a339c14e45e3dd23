import { join } from 'node:path';
import type { Chance } from '#base';
import { diskFaultOf, failpoint, type Disk, type DiskFile } from '#disk';
import { SegmentAhead, aheadBytes, writeZeros } from './segment-ahead.ts';
import { encodeSegmentHeader, segmentHeaderBytes, segmentName } from './segment.ts';

/** A segment that is being written, or was. */
export interface OpenSegment {
  readonly name: string;
  readonly file: DiskFile;
  readonly salt: number;
  readonly size: number;
  /** False for one that was made for a single oversized frame: never recycled (QFS-05). */
  readonly isRecyclable: boolean;
  end: number;
  lastSequence: number;
}

/** A file that the next segment may take. */
type SpareSegment = Pick<OpenSegment, 'name' | 'file' | 'size'>;

/** A segment whose write or sync failed, and the last sequence in it that counts. */
export interface PoisonedSegment {
  readonly name: string;
  readonly salt: number;
  readonly lastGoodSequence: number;
}

/** A segment of an earlier tenure: read at recovery, never written, unlinked after our first checkpoint (QFS-40). */
export interface OldSegment {
  readonly name: string;
  readonly lastSequence: number;
  readonly bytes: number;
}

export interface SegmentShelfOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly chance: Chance;
  readonly generation: number;
  readonly segmentBytes: number;
  /** Whether the file system keeps its reserve, and room for the backlog, when so many more bytes are taken (QFS-30). */
  readonly hasRoomFor: (bytes: number) => boolean;
  /** Number of the first segment that this shelf makes: above all that are there with its generation. */
  readonly firstNumber: number;
  readonly old: readonly OldSegment[];
  /** Segments that an earlier tenure abandoned and that still exist. */
  readonly poisoned: readonly PoisonedSegment[];
}

/** A segment where a whole one would take the reserve: enough for the commits of a drain, little beside any reserve. */
const smallSegmentBytes = 64 * 1024;
const spareSegmentsMax = 3;

/** The files of the journal: which are written, which may be used again, which must go, in which order. */
export class SegmentShelf {
  readonly #options: SegmentShelfOptions;
  #number: number;
  #used: OpenSegment[] = [];
  #spare: SpareSegment[] = [];
  #ahead: SegmentAhead | undefined;
  /** Never rejects. */
  #filling: Promise<void> | undefined;
  /** The next segment could not be made ahead: not tried again until it is begun. */
  #hasAheadFailed = false;
  #old: OldSegment[];
  #poisoned: PoisonedSegment[];
  #poisonedFiles = new Map<string, DiskFile>();

  constructor(options: SegmentShelfOptions) {
    this.#options = options;
    this.#number = options.firstNumber;
    this.#old = [...options.old];
    this.#poisoned = [...options.poisoned];
  }

  get poisoned(): readonly PoisonedSegment[] {
    return this.#poisoned;
  }

  get bytesInUse(): number {
    return (
      this.#used.reduce((sum, segment) => sum + segment.end, 0) +
      this.#old.reduce((sum, { bytes }) => sum + bytes, 0)
    );
  }

  /** Bytes that a checkpoint gives back to a file system that is nearly full: all but the segment that is being written. */
  get bytesToGain(): number {
    return (
      [...this.#used.slice(0, -1), ...this.#spare].reduce((sum, { size }) => sum + size, 0) +
      (this.#ahead?.filledBytes ?? 0) +
      this.#old.reduce((sum, { bytes }) => sum + bytes, 0)
    );
  }

  /** Files with frames above the mark, and the last frame in each that counts. */
  segments(): readonly { readonly name: string; readonly lastSequence: number }[] {
    const poisoned = this.#poisoned.map(({ name, lastGoodSequence: lastSequence }) => ({
      name,
      lastSequence,
    }));
    const used = this.#used.map(({ name, lastSequence }) => ({ name, lastSequence }));
    return [...this.#old, ...poisoned, ...used];
  }

  /** The same files, and the bytes of each that belong to the journal now. */
  extents(): readonly { readonly name: string; readonly bytes: number }[] {
    const whole = [...this.#old, ...this.#poisoned].map(({ name }) => ({
      name,
      bytes: Number.MAX_SAFE_INTEGER,
    }));
    return [...whole, ...this.#used.map(({ name, end }) => ({ name, bytes: end }))];
  }

  /** Begins the next segment: an own spare one, or a new file, made exclusively and zero-filled (QFS-05, QFS-40). */
  async begin(firstSequence: number, mark: number, bytesNeeded: number): Promise<OpenSegment> {
    const { generation, segmentBytes, chance, disk, directory } = this.#options;
    const spare = bytesNeeded <= segmentBytes ? await this.#takeSpare() : undefined;
    const number = this.#number++;
    const name = segmentName(generation, number);
    const { file, size } =
      spare === undefined
        ? await this.#makeWhereItFits(name, bytesNeeded)
        : { file: await this.#reuse(spare, name), size: spare.size };
    const salt = Buffer.from(chance.bytes(4)).readUInt32LE(0) || 1;
    const segment: OpenSegment = {
      name,
      file,
      salt,
      size,
      isRecyclable: size === segmentBytes,
      end: segmentHeaderBytes,
      lastSequence: firstSequence - 1,
    };
    // From here on the file is the shelf's, whatever fails next: it is poisoned and unlinked like any other.
    this.#used.push(segment);
    try {
      await file.writeAt(
        [encodeSegmentHeader({ salt, generation, number, firstSequence, mark })],
        0,
      );
      await file.sync();
      await disk.syncDirectory(directory);
      await failpoint('segment:begun');
    } catch (error) {
      this.poison(segment, firstSequence - 1);
      throw error;
    }
    return segment;
  }

  /**
   * Told behind each group that went into `current`: where nothing is spare, the next segment is made beside it piece by piece, so that no group waits for 64 MiB
   * of zeros, which takes a tenth of a second and more.
   */
  prepare(current: OpenSegment): void {
    const { segmentBytes, hasRoomFor } = this.#options;
    if (this.#filling !== undefined || this.#spare.length > 0 || this.#hasAheadFailed) return;
    const bytes = current.isRecyclable ? aheadBytes(current.end, current.size) : 0;
    if (bytes <= (this.#ahead?.filledBytes ?? 0)) return;
    // Not what a drain may need (QFS-30).
    if (hasRoomFor(segmentBytes)) void this.#fillAhead(bytes);
  }

  async #takeSpare(): Promise<SpareSegment | undefined> {
    this.#hasAheadFailed = false;
    const spare = this.#spare.shift();
    if (spare !== undefined) return spare;
    await this.#filling;
    if (this.#ahead !== undefined) await this.#fillAhead(this.#options.segmentBytes);
    return this.#spare.shift();
  }

  #fillAhead(bytes: number): Promise<void> {
    this.#filling = this.#fillSome(bytes)
      // Whoever begins the next segment makes it himself then, and tells what he meets; a file that could not be taken away either is left to the next tenure.
      .catch(async () => {
        this.#hasAheadFailed = true;
        const ahead = this.#ahead;
        this.#ahead = undefined;
        if (ahead !== undefined) await this.#remove(ahead).catch(() => undefined);
      })
      .finally(() => {
        this.#filling = undefined;
      });
    return this.#filling;
  }

  async #fillSome(bytes: number): Promise<void> {
    const { segmentBytes } = this.#options;
    this.#ahead ??= await this.#openAhead();
    await this.#ahead.fillTo(bytes);
    if (this.#ahead.filledBytes < segmentBytes) return;
    this.#spare.push(this.#ahead);
    this.#ahead = undefined;
  }

  async #openAhead(): Promise<SegmentAhead> {
    const { disk, directory, generation, segmentBytes } = this.#options;
    const name = segmentName(generation, this.#number++);
    const file = await disk.open(join(directory, name), 'create');
    return new SegmentAhead(name, file, segmentBytes);
  }

  /** All that no segment was begun in, whole or half made. */
  async #takeAllSpare(): Promise<readonly SpareSegment[]> {
    await this.#filling;
    const spare = this.#spare.splice(0);
    if (this.#ahead !== undefined) spare.push(this.#ahead);
    this.#ahead = undefined;
    return spare;
  }

  async #remove({ file, name }: SpareSegment): Promise<void> {
    const { disk, directory } = this.#options;
    await file.close();
    await disk.unlink(join(directory, name));
  }

  /** Takes away the segments that wait to be used again; the next one is made anew. */
  async dropSpare(): Promise<void> {
    await this.#unlinkSpare();
    await this.#options.disk.syncDirectory(this.#options.directory);
  }

  /** Whether there were any; the caller syncs the directory. */
  async #unlinkSpare(): Promise<boolean> {
    const spare = await this.#takeAllSpare();
    for (const one of spare) await this.#remove(one);
    return spare.length > 0;
  }

  /** The segment is never written again; recovery drops what lies in it after `lastGoodSequence` (QFS-03). */
  poison(segment: OpenSegment, lastGoodSequence: number): void {
    this.#used = this.#used.filter((other) => other !== segment);
    if (this.#poisoned.some(({ name }) => name === segment.name)) return;
    this.#poisoned.push({ name: segment.name, salt: segment.salt, lastGoodSequence });
    this.#poisonedFiles.set(segment.name, segment.file);
  }

  /** Lets go what the mark has made redundant: poisoned files first, then files of earlier tenures; own ones are kept for use again. */
  async release(mark: number, current: OpenSegment | undefined): Promise<void> {
    const { disk, directory } = this.#options;
    let isChanged = false;
    for (const segment of this.#poisoned.filter(
      ({ lastGoodSequence }) => lastGoodSequence <= mark,
    )) {
      await this.#poisonedFiles.get(segment.name)?.close();
      this.#poisonedFiles.delete(segment.name);
      await disk.unlink(join(directory, segment.name));
      this.#poisoned = this.#poisoned.filter((other) => other !== segment);
      isChanged = true;
    }
    // The ABANDON that names a poisoned segment must not go before the segment itself.
    if (isChanged) await disk.syncDirectory(directory);
    for (const segment of this.#old.filter(({ lastSequence }) => lastSequence <= mark)) {
      await disk.unlink(join(directory, segment.name));
      this.#old = this.#old.filter((other) => other !== segment);
      isChanged = true;
    }
    for (const segment of this.#used.filter((one) => one !== current && one.lastSequence <= mark)) {
      this.#used = this.#used.filter((other) => other !== segment);
      if (segment.isRecyclable && this.#maySpare()) this.#spare.push(segment);
      else {
        await this.#remove(segment);
        isChanged = true;
      }
    }
    if (!this.#options.hasRoomFor(this.#options.segmentBytes) && (await this.#unlinkSpare()))
      isChanged = true;
    if (isChanged) await disk.syncDirectory(directory);
  }

  /** Spare segments go, and the zeros behind the last frame: the next tenure makes its own (QFS-40), and would have to read these. */
  async close(): Promise<void> {
    const { disk, directory } = this.#options;
    const spare = await this.#takeAllSpare();
    for (const { file, end, size } of this.#used) if (end < size) await file.truncate(end);
    const files = [...this.#used, ...spare].map(({ file }) => file);
    this.#used = [];
    for (const file of [...files, ...this.#poisonedFiles.values()]) await file.close();
    this.#poisonedFiles.clear();
    for (const { name } of spare) await disk.unlink(join(directory, name));
  }

  /** On a disk that is nearly full what is spare belongs to the drain (QFS-30). */
  #maySpare(): boolean {
    const { hasRoomFor, segmentBytes } = this.#options;
    return this.#spare.length < spareSegmentsMax && hasRoomFor(segmentBytes);
  }

  /**
   * A whole segment, or on a file system that has no room for one beside its reserve a small one: zeros must not take what is kept for the drain, and
   * a commit of a few hundred bytes must not fail for the want of 64 MiB, or a full disk could never empty itself (QFS-30, SC-029). A small one is
   * never recycled.
   */
  async #makeWhereItFits(
    name: string,
    bytesNeeded: number,
  ): Promise<{ readonly file: DiskFile; readonly size: number }> {
    const { segmentBytes, hasRoomFor } = this.#options;
    const small = Math.min(smallSegmentBytes, segmentBytes);
    const size = Math.max(hasRoomFor(segmentBytes) ? segmentBytes : small, bytesNeeded);
    try {
      return { file: await this.#make(name, size), size };
    } catch (error) {
      const code = diskFaultOf(error)?.code;
      if (size === bytesNeeded || (code !== 'ENOSPC' && code !== 'EDQUOT')) throw error;
      return { file: await this.#make(name, bytesNeeded), size: bytesNeeded };
    }
  }

  async #make(name: string, size: number): Promise<DiskFile> {
    const { disk, directory } = this.#options;
    const file = await disk.open(join(directory, name), 'create');
    try {
      await writeZeros(file, 0, size);
      await file.sync();
      return file;
    } catch (error) {
      await this.#remove({ name, file, size });
      throw error;
    }
  }

  /** The directory is synced with the new header, before any frame of the segment is acknowledged. */
  async #reuse(spare: SpareSegment, name: string): Promise<DiskFile> {
    const { disk, directory } = this.#options;
    try {
      await disk.rename(join(directory, spare.name), join(directory, name));
    } catch (error) {
      this.#spare.push(spare);
      throw error;
    }
    return spare.file;
  }
}
