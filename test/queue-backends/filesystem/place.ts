import { createHash } from 'node:crypto';
import { memoryDisk, type Disk, type MemoryDisk } from '#disk';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import type { Key } from '#record';
import { memoryState, type MemoryState } from '#state';
import { fakeClock, type FakeClock } from '../../support/clock.ts';
import {
  openQueue,
  queueDirectory,
  type TestQueueOptions,
} from '../../support/filesystem-queue.ts';
import { testKey } from '../../support/queue-fixtures.ts';

/** A root on a memory disk whose queue is opened, left and opened again. */
export class Place {
  disk: MemoryDisk = memoryDisk({ directories: ['/root'] });
  state: MemoryState = memoryState();
  clock: FakeClock = fakeClock();
  generation = 0;
  readonly #opened: FilesystemQueue[] = [];

  async open(options: TestQueueOptions = {}): Promise<FilesystemQueue> {
    this.generation += 1;
    const { disk, state, clock, generation } = this;
    const queue = await openQueue({ disk, state, clock, generation, ...options });
    this.#opened.push(queue);
    return queue;
  }

  /** What kill -9 leaves: nothing was closed, and all that was written is there. */
  async kill(): Promise<void> {
    this.disk = this.disk.afterPowerLoss({
      bytes: 'kept',
      entries: 'kept',
      failedSyncs: 'kept',
      chance: { uuid: () => '', bytes: () => new Uint8Array(0), float: () => 0 },
    });
    this.clock = fakeClock();
  }

  async dispose(): Promise<void> {
    for (const queue of this.#opened) await queue.close().catch(() => undefined);
  }
}

export async function withPlace(use: (place: Place) => Promise<void>): Promise<void> {
  const place = new Place();
  try {
    await use(place);
  } finally {
    await place.dispose();
  }
}

export function folderOf(key: Key = testKey()): string {
  const shard = createHash('sha256').update(key).digest('hex').slice(0, 2);
  return `${queueDirectory}/sessions/${shard}/${key}`;
}

export async function readText(disk: Disk, path: string): Promise<string> {
  return Buffer.from((await disk.readFile(path)) ?? []).toString('utf8');
}

/** Replaces a file's bytes, durably; as a bit rot or a foreign hand would. */
export async function edit(
  disk: Disk,
  path: string,
  change: (bytes: Buffer) => Uint8Array,
): Promise<void> {
  const bytes = Buffer.from((await disk.readFile(path)) ?? []);
  const file = await disk.open(path, 'write');
  await file.truncate(0);
  await file.writeAt([change(bytes)], 0);
  await file.sync();
  await file.close();
}

/** Names of a folder that match. */
export async function namesIn(
  disk: Disk,
  path: string,
  pattern: RegExp,
): Promise<readonly string[]> {
  return (await disk.readDirectory(path))
    .map(({ name }) => name)
    .filter((name) => pattern.test(name));
}

export async function segmentPaths(disk: Disk): Promise<readonly string[]> {
  const journal = `${queueDirectory}/journal`;
  return (await namesIn(disk, journal, /\.wal$/)).map((name) => `${journal}/${name}`);
}

/** Flips one bit where `text` stands in the file; it must stand there once or more. */
export function flipAt(bytes: Buffer, text: string, from = 0): Buffer {
  const at = bytes.indexOf(text, from);
  if (at < 0) throw new Error(`${text} does not stand in the file`);
  const changed = Buffer.from(bytes);
  changed[at] = (changed[at] ?? 0) ^ 0x01;
  return changed;
}
