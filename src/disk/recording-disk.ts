import type { Disk, DiskFile } from './disk.ts';
import { isSpoilable, memoryDisk, type MemoryDisk, type SpoilableFile } from './memory-disk.ts';

/**
 * One step that may outlive a crash, logged when it ended well. `covers` of a sync is the number of steps that were logged when it began:
 * only those of its file or folder are durable by it. A file is known by the number of its opening, since its path may change.
 */
export type DiskStep =
  | { readonly kind: 'create' | 'open'; readonly path: string; readonly file: number }
  | {
      readonly kind: 'write';
      readonly path: string;
      readonly file: number;
      readonly offset: number;
      readonly bytes: Uint8Array;
    }
  | {
      readonly kind: 'truncate';
      readonly path: string;
      readonly file: number;
      readonly size: number;
    }
  | {
      readonly kind: 'sync';
      readonly path: string;
      readonly file: number;
      readonly covers: number;
    }
  | { readonly kind: 'failed-sync'; readonly path: string; readonly file: number }
  | { readonly kind: 'make-directory' | 'unlink'; readonly path: string }
  | { readonly kind: 'sync-directory'; readonly path: string; readonly covers: number }
  | { readonly kind: 'rename'; readonly path: string; readonly to: string }
  | { readonly kind: 'mark'; readonly label: string; readonly detail: unknown };

export interface DiskLog {
  /** The disk before the first step. */
  readonly start: MemoryDisk;
  readonly steps: readonly DiskStep[];
}

export interface RecordingDisk extends Disk {
  readonly log: DiskLog;
  /** Puts a word of the test between the steps, such as an acknowledgement that was given; returns its step number. */
  mark(label: string, detail?: unknown): number;
}

/**
 * Logs every durable step of `inner` with its bytes. `start` is what `inner` holds now: taken from a memory disk by itself, and for any
 * other an empty disk with the folders that are there. A failing disk goes around this one, so that what it lets through is logged.
 */
export function recordingDisk(inner: Disk, start: MemoryDisk = startOf(inner)): RecordingDisk {
  const steps: DiskStep[] = [];
  let files = 0;

  const opened = (file: DiskFile, kind: 'create' | 'open'): DiskFile => {
    files += 1;
    steps.push({ kind, path: file.path, file: files });
    return recordedFile(file, files, steps);
  };

  return {
    log: { start: start.copy(), steps },
    mark(label, detail) {
      return steps.push({ kind: 'mark', label, detail }) - 1;
    },
    async open(path, mode) {
      if (mode === 'read') return inner.open(path, mode);
      const isThere = mode === 'write' && (await inner.stat(path)) !== undefined;
      return opened(await inner.open(path, mode), isThere ? 'open' : 'create');
    },
    async rename(from, to) {
      await inner.rename(from, to);
      steps.push({ kind: 'rename', path: from, to });
    },
    async unlink(path) {
      await inner.unlink(path);
      steps.push({ kind: 'unlink', path });
    },
    async makeDirectory(path) {
      await inner.makeDirectory(path);
      steps.push({ kind: 'make-directory', path });
    },
    async syncDirectory(path) {
      const covers = steps.length;
      await inner.syncDirectory(path);
      steps.push({ kind: 'sync-directory', path, covers });
    },
    readDirectory: (path) => inner.readDirectory(path),
    stat: (path) => inner.stat(path),
    readFile: (path) => inner.readFile(path),
    space: (path) => inner.space(path),
  };
}

function startOf(inner: Disk): MemoryDisk {
  return 'volume' in inner && 'copy' in inner ? (inner as MemoryDisk) : memoryDisk();
}

function recordedFile(inner: DiskFile, file: number, steps: DiskStep[]): SpoilableFile {
  const { path } = inner;
  const failSync = (): void => {
    steps.push({ kind: 'failed-sync', path, file });
    if (isSpoilable(inner)) inner.failSync();
  };
  return {
    path,
    readAt: (into, offset) => inner.readAt(into, offset),
    async writeAt(buffers, offset) {
      await inner.writeAt(buffers, offset);
      steps.push({ kind: 'write', path, file, offset, bytes: Buffer.concat(buffers) });
    },
    async sync() {
      const covers = steps.length;
      try {
        await inner.sync();
      } catch (error) {
        failSync();
        throw error;
      }
      steps.push({ kind: 'sync', path, file, covers });
    },
    async truncate(size) {
      await inner.truncate(size);
      steps.push({ kind: 'truncate', path, file, size });
    },
    size: () => inner.size(),
    close: () => inner.close(),
    failSync,
  };
}
