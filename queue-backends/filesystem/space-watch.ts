import type { Clock } from '#base';
import type { Disk } from '#disk';
import { reserveBytesOf } from '#queue';

export interface SpaceWatchOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly clock: Clock;
  /** Null: the default of QFS-30. */
  readonly reserveBytes: number | null;
}

/** How long a look at the file system's free space counts. */
const spaceAgeMsMax = 500;

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
    if (this.#freeBytes > this.#reserveBytes) this.#shortSince = undefined;
    else this.#shortSince ??= clock.now();
  }
}
