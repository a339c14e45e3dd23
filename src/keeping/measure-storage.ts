import { join } from 'node:path';
import type { Clock } from '#base';
import type { Disk } from '#disk';

/** What a root keeps on disk, by component. */
export type StorageComponent = 'queue' | 'graph' | 'state' | 'control' | 'objects';

export interface StorageFacts {
  readonly bytes: Readonly<Record<StorageComponent, number>>;
  /** RFC 3339 UTC. */
  readonly measuredAt: string;
}

/** Measures a root now and then: a walk over every file is nothing to wait for, and nothing to do at each question. */
export interface StorageMeter {
  /** The last measure; undefined before the first has ended. Begins another where that is old. */
  look(): StorageFacts | undefined;
}

/** A measure counts for this long, or for so many times as long as it took. */
const ageMsMin = 60_000;
const ageFactor = 50;

export function createStorageMeter(
  folders: Readonly<Record<StorageComponent, string>>,
  { disk, clock }: { readonly disk: Disk; readonly clock: Clock },
): StorageMeter {
  let last: StorageFacts | undefined;
  let dueMs = 0;
  let isRunning = false;
  const measure = async (): Promise<void> => {
    isRunning = true;
    const began = clock.monotonic();
    try {
      const sizes = Object.entries(folders).map(
        async ([name, path]) => [name, await bytesBelow(disk, path)] as const,
      );
      const bytes = Object.fromEntries(await Promise.all(sizes)) as StorageFacts['bytes'];
      last = { bytes, measuredAt: new Date(clock.now()).toISOString() };
    } finally {
      isRunning = false;
      const tookMs = clock.monotonic() - began;
      dueMs = clock.monotonic() + Math.max(ageMsMin, tookMs * ageFactor);
    }
  };
  return {
    look() {
      // A disk that does not answer is told elsewhere; the last measure stands.
      if (!isRunning && clock.monotonic() >= dueMs) measure().catch(() => undefined);
      return last;
    },
  };
}

/** Bytes of all files below a folder; one that goes meanwhile counts nothing. */
export async function bytesBelow(disk: Disk, folder: string): Promise<number> {
  let bytes = 0;
  for (const { name, kind } of await disk.readDirectory(folder)) {
    const path = join(folder, name);
    if (kind === 'directory') bytes += await bytesBelow(disk, path);
    else bytes += (await disk.stat(path))?.size ?? 0;
  }
  return bytes;
}
