import type { Clock } from '#base';
import type { Disk } from '#disk';
import { reserveBytesOf } from '#queue';

export interface SpaceWatchOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly clock: Clock;
  /** Null: the default of QFS-30. */
  readonly reserveBytes: number | null;
  /** Bytes that wait for a drain now. */
  readonly backlogBytes: () => number;
}

/** How long a look at the file system's free space counts, and how much of what it left above the reserve may be taken before the next. */
const spaceAgeMsMax = 500;
const takenShareMax = 1 / 16;

/** What a graph's write-ahead log comes to at most before it is written back: a few transactions of `graph.max_tx_bytes`. */
const walBytesMax = 32 * 1024 * 1024;

/**
 * What draining a backlog takes from the disk on top of what is there: its lines in the session files, its values in the graph, and the graph's
 * write-ahead log. Kept free as well, or a disk that was filled with events could not be emptied into the graph beside them (SC-029). Pure.
 */
export function bytesToDrain(backlogBytes: number): number {
  return 2 * backlogBytes + Math.min(backlogBytes, walBytesMax);
}

/** Free space, looked at now and then: a question to the file system is not for every append (QFS-30). */
export class SpaceWatch {
  readonly #options: SpaceWatchOptions;
  #freeBytes = Number.POSITIVE_INFINITY;
  #takenBytes = 0;
  #reserveBytes: number;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #isLooking = false;
  #shortSince: number | undefined;

  constructor(options: SpaceWatchOptions) {
    this.#options = options;
    this.#reserveBytes = reserveBytesOf(options.reserveBytes, Number.MAX_SAFE_INTEGER);
  }

  get reserveBytes(): number {
    return this.#reserveBytes;
  }

  /** What appends must leave free: the reserve, and room to drain what waits (QFS-30). */
  get keptBytes(): number {
    return this.#reserveBytes + bytesToDrain(this.#options.backlogBytes());
  }

  /** Whether so many more bytes leave what is kept: of what is not urgent, only that is taken which does. */
  hasRoomFor(bytes: number): boolean {
    return this.freeBytes() - bytes > this.keptBytes;
  }

  /** Counts bytes that were just admitted; the next look sees them. */
  take(bytes: number): void {
    this.#freeBytes -= bytes;
    this.#takenBytes += bytes;
  }

  /** Wall clock, epoch ms, of the look that found the reserve touched; undefined while it is whole (QFS-30). */
  get shortSince(): number | undefined {
    // What was kept for a backlog is free again when that is drained, without another look.
    if (this.freeBytes() > this.keptBytes) this.#shortSince = undefined;
    return this.#shortSince;
  }

  /**
   * As of the last look, which is at most half a second old unless the file system does not answer. Each event takes about as much again in its
   * session file and in the graph, which nobody counts here: 20 MB/s of them took 8 MB of a reserve of 2 MB between two looks, so a disk with little
   * left above the reserve is looked at as often as that is taken from it.
   */
  freeBytes(): number {
    const isOld = this.#options.clock.monotonic() - this.#lookedAtMs > spaceAgeMsMax;
    const isTaken = this.#takenBytes > takenShareMax * (this.#freeBytes - this.keptBytes);
    if ((isOld || (isTaken && this.#takenBytes > 0)) && !this.#isLooking) void this.look();
    return this.#freeBytes;
  }

  /** Never rejects: a file system that cannot even be asked says so at the next write, which fails the request. */
  async look(): Promise<void> {
    const { disk, directory, clock, reserveBytes } = this.#options;
    this.#isLooking = true;
    const space = await disk.space(directory).catch(() => undefined);
    this.#isLooking = false;
    this.#lookedAtMs = clock.monotonic();
    this.#takenBytes = 0;
    this.#freeBytes = space?.freeBytes ?? Number.POSITIVE_INFINITY;
    if (space !== undefined) this.#reserveBytes = reserveBytesOf(reserveBytes, space.totalBytes);
    if (this.#freeBytes > this.keptBytes) this.#shortSince = undefined;
    else this.#shortSince ??= clock.now();
  }
}
