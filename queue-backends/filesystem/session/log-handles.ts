import { diskFaultOf, type Disk, type DiskFile } from '#disk';

/** Open handles of session logs (QFS-15). */
const handlesMaxDefault = 256;
const handlesMaxLeast = 4;

interface Handle {
  readonly file: Promise<DiskFile>;
  users: number;
  /** Closed by its last user: the path leads to another file now, or to none. */
  isDropped: boolean;
}

/** A bounded pool of open files, least recently used first to go. */
export class LogHandles {
  readonly #disk: Disk;
  readonly #handles = new Map<string, Handle>();
  #handlesMax: number;

  constructor(disk: Disk, handlesMax: number = handlesMaxDefault) {
    this.#handlesMax = handlesMax;
    this.#disk = disk;
  }

  get size(): number {
    return this.#handles.size;
  }

  /** Opens the file if it is not open, making it when absent. */
  async with<T>(path: string, use: (file: DiskFile) => Promise<T>): Promise<T> {
    const handle = this.#take(path);
    handle.users += 1;
    try {
      return await use(await handle.file);
    } finally {
      handle.users -= 1;
      if (handle.isDropped && handle.users === 0) await closeQuietly(handle);
      else await this.#shrink();
    }
  }

  /** The next use opens the path again: after a replacement, or a sync that failed. */
  async drop(path: string): Promise<void> {
    const handle = this.#handles.get(path);
    if (handle === undefined) return;
    this.#handles.delete(path);
    handle.isDropped = true;
    if (handle.users === 0) await closeQuietly(handle);
  }

  async close(): Promise<void> {
    for (const path of this.#handles.keys()) await this.drop(path);
  }

  #take(path: string): Handle {
    const known = this.#handles.get(path);
    if (known !== undefined) {
      this.#handles.delete(path);
      this.#handles.set(path, known);
      return known;
    }
    const made: Handle = { file: this.#open(path), users: 0, isDropped: false };
    made.file.catch(() => {
      if (this.#handles.get(path) === made) this.#handles.delete(path);
    });
    this.#handles.set(path, made);
    return made;
  }

  /**
   * Where the process has no descriptor left, the pool gives half of its own back, and stays that small: journal, stores and sockets need theirs.
   */
  async #open(path: string): Promise<DiskFile> {
    try {
      return await this.#disk.open(path, 'write');
    } catch (error) {
      const code = diskFaultOf(error)?.code;
      if (code !== 'EMFILE' && code !== 'ENFILE') throw error;
      const half = Math.floor(Math.min(this.#handles.size, this.#handlesMax) / 2);
      this.#handlesMax = Math.max(handlesMaxLeast, half);
      await this.#shrink();
      return this.#disk.open(path, 'write');
    }
  }

  async #shrink(): Promise<void> {
    for (const [path, handle] of this.#handles) {
      if (this.#handles.size <= this.#handlesMax) return;
      if (handle.users === 0) await this.drop(path);
    }
  }
}

/** What a close could still say was said by the sync that a checkpoint waits for. */
async function closeQuietly(handle: Handle): Promise<void> {
  await handle.file.then((file) => file.close()).catch(() => undefined);
}
