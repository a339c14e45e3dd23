import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemChance, systemClock } from '#base';
import { stagingNames, type Disk } from '#disk';
import type { GraphStore } from '#graph';
import { openEmbeddedGraph } from '#graph/embedded';
import { openFilesystemQueue, type FilesystemQueue } from '#queue-backends/filesystem';
import { openLmdbState } from '#state';
import { spillBytes } from '../test/support/graph-fixtures.ts';
import { testPermit } from '../test/support/queue-fixtures.ts';

export const benchRootId = 'SR-bench';

/** The stores of a throwaway root in this process, as the daemon opens them. */
export interface Place {
  readonly directory: string;
  readonly queue: FilesystemQueue;
}

export async function withQueue<T>(disk: Disk, use: (place: Place) => Promise<T>): Promise<T> {
  return withDirectory(async (directory) => {
    const permit = testPermit();
    const state = await openLmdbState({ directory: join(directory, 'state'), permit });
    const queue = await openFilesystemQueue({
      directory: join(directory, 'queue'),
      disk,
      names: stagingNames(process.pid, systemChance),
      clock: systemClock,
      chance: systemChance,
      permit,
      state,
      rootId: benchRootId,
      limits: {
        segmentBytes: 64 * 2 ** 20,
        bytesMax: 8 * 2 ** 30,
        bytesPerKeyMax: 2 ** 30,
        reserveBytes: 0,
        cursorBytesMax: 256 * 2 ** 10,
        quarantineBacklogBytesMax: 64 * 2 ** 20,
      },
      fsync: 'group',
      lockWarnMs: 2000,
    });
    try {
      return await use({ directory, queue });
    } finally {
      await queue.close();
      await state.close();
    }
  });
}

export async function withGraph<T>(
  directory: string,
  use: (graph: GraphStore) => Promise<T>,
): Promise<T> {
  const graph = await openEmbeddedGraph({
    path: join(directory, 'graph.db'),
    rootId: benchRootId,
    spillBytes,
    clock: systemClock,
    chance: systemChance,
  });
  try {
    return await use(graph);
  } finally {
    await graph.close();
  }
}

export async function withDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  try {
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
