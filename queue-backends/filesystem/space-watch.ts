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

/** How long a look at the file system's free space counts. */
const spaceAgeMsMax = 500;

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

  /** Counts bytes that were just admitted; the next look sees them. */
  take(bytes: number): void {
    this.#freeBytes -= bytes;
  }

  /** Wall clock, epoch ms, of the look that found the reserve touched; undefined while it is whole (QFS-30). */
  get shortSince(): number | undefined {
    this.freeBytes();
    return this.#shortSince;
  }

  /** As of the last look, which is at most half a second old unless the file system does not answer. */
  freeBytes(): number {
    const now = this.#options.clock.monotonic();
    if (now - this.#lookedAtMs > spaceAgeMsMax && !this.#isLooking) void this.look();
    return this.#freeBytes;
  }

  /** Never rejects: a file system that cannot even be asked says so at the next write, which fails the request. */
  async look(): Promise<void> {
    const { disk, directory, clock, reserveBytes } = this.#options;
    this.#isLooking = true;
    const space = await disk.space(directory).catch(() => undefined);
    this.#isLooking = false;
    this.#lookedAtMs = clock.monotonic();
    this.#freeBytes = space?.freeBytes ?? Number.POSITIVE_INFINITY;
    if (space !== undefined) this.#reserveBytes = reserveBytesOf(reserveBytes, space.totalBytes);
    if (this.#freeBytes > this.keptBytes) this.#shortSince = undefined;
    else this.#shortSince ??= clock.now();
  }
}
