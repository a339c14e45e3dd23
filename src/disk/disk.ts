/**
 * The only way files change (D18). The node disk is the real one; the recording and the failing disk wrap any disk, so that a crash test can rebuild
 * a folder as of every step and a fault test can fail every call.
 *
 * Errors: every method rejects with the platform's error (`code` such as ENOSPC); rooms classify it once, at their edge.
 */
export interface Disk {
  /** Opens a file. `create` makes it, failing with EEXIST when it is there (ING-231); `write` makes it when absent; `read` never makes it. */
  open(path: string, mode: 'read' | 'write' | 'create'): Promise<DiskFile>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** Takes an empty folder away; one that is gone is fine. Undefined for a disk that keeps its folders. */
  readonly removeDirectory?: ((path: string) => Promise<void>) | undefined;
  /** Makes a folder and its parents, mode 0700; an existing one is fine. */
  makeDirectory(path: string): Promise<void>;
  /** Names of a folder's entries, sorted; a missing folder is empty. */
  readDirectory(path: string): Promise<readonly DiskEntry[]>;
  /** Makes renames, creations and deletions of the folder's entries durable. */
  syncDirectory(path: string): Promise<void>;
  /** Undefined when there is no such entry. */
  stat(path: string): Promise<DiskStat | undefined>;
  /** Undefined when there is no such file. */
  readFile(path: string): Promise<Uint8Array | undefined>;
  /** Bytes that the file system has left for us, and its size. */
  space(path: string): Promise<DiskSpace>;
}

export interface DiskFile {
  readonly path: string;
  /** Reads up to `into.byteLength` bytes at `offset`; returns the count, 0 at the end. */
  readAt(into: Uint8Array, offset: number): Promise<number>;
  /** Writes all buffers, one after another, from `offset`; a short write is carried on or rejected, never reported as done. */
  writeAt(buffers: readonly Uint8Array[], offset: number): Promise<void>;
  /** fdatasync: the bytes and the size are durable when it resolves. */
  sync(): Promise<void>;
  /**
   * `writeAt` whose bytes are durable when it resolves, in one call to the system; undefined where there is none. It says nothing of earlier writes.
   * A write and a sync are two trips to a pool of threads, and on a busy machine each trip waits twice for a core.
   */
  readonly writeDurablyAt?:
    | ((buffers: readonly Uint8Array[], offset: number) => Promise<void>)
    | undefined;
  truncate(size: number): Promise<void>;
  size(): Promise<number>;
  close(): Promise<void>;
}

export interface DiskEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'other';
}

export interface DiskStat {
  readonly kind: 'file' | 'directory' | 'other';
  readonly size: number;
  readonly mode: number;
  readonly device: number;
  readonly inode: number;
  readonly modifiedMs: number;
}

export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}
