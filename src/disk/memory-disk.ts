import type { Disk, DiskFile, DiskStat } from './disk.ts';
import type { MemoryFile, MemoryNode } from './memory-tree.ts';
import { MemoryVolume } from './memory-volume.ts';
import { platformError } from './platform-error.ts';
import type { PowerLoss } from './power-loss.ts';

/**
 * A whole disk in memory that knows what a power loss takes. Buffers of a write are read a moment after the call, as on a real disk, so a
 * caller that reuses them too early is found out.
 */
export interface MemoryDisk extends Disk {
  /** The disk as it is found when the power is back: all of it durable, nothing of it open. */
  afterPowerLoss(loss: PowerLoss): MemoryDisk;
  /** An independent disk with the same durable and unsynced content. */
  copy(): MemoryDisk;
  /** The volume itself, for the recording disk's replay. */
  readonly volume: MemoryVolume;
  /** Paths of the files that are open, as often as they are: a test ends with none. */
  openPaths(): readonly string[];
}

/** Files of the memory and the recording disk can be told that a sync of them failed; a failing disk does it when it fails one. */
export interface SpoilableFile extends DiskFile {
  /** What is unsynced now may or may not be durable, and no later sync makes it certain. */
  failSync(): void;
}

export function isSpoilable(file: DiskFile): file is SpoilableFile {
  return 'failSync' in file;
}

export interface MemoryDiskOptions {
  /** Folders that are there, and durable, from the beginning. */
  readonly directories?: readonly string[];
  /** Writes beyond it fail with ENOSPC. */
  readonly totalBytes?: number;
  readonly failedSyncs?: PowerLoss['failedSyncs'];
}

const totalBytesDefault = 2 ** 40;

/** Every call takes effect a turn after it was made, as calls of a real disk overlap. */
function turn(): Promise<void> {
  return Promise.resolve();
}

export function memoryDisk(options: MemoryDiskOptions = {}): MemoryDisk {
  const failedSyncs = options.failedSyncs ?? 'lost';
  const volume = new MemoryVolume(failedSyncs);
  for (const path of options.directories ?? []) volume.makeDirectory(path);
  const durable = volume.after({
    bytes: 'kept',
    entries: 'kept',
    failedSyncs,
    chance: { uuid: () => '', bytes: () => new Uint8Array(0), float: () => 0 },
  });
  return diskOf(durable, options.totalBytes ?? totalBytesDefault);
}

/** The disk of a volume; what another disk of the same volume does is seen by both. */
export function diskOf(volume: MemoryVolume, totalBytes: number = totalBytesDefault): MemoryDisk {
  const opened = new Set<DiskFile>();
  const freeBytes = (): number => totalBytes - volume.usedBytes();
  return {
    volume,
    async open(path, mode) {
      await turn();
      const found = volume.find(path, 'open');
      if (found === undefined && mode === 'read') throw platformError('ENOENT', 'open', path);
      if (found !== undefined && mode === 'create') throw platformError('EEXIST', 'open', path);
      const node = found === undefined ? volume.createFile(path) : volume.file(path, 'open');
      const limit = totalBytes === totalBytesDefault ? undefined : freeBytes;
      const file = memoryFile(volume, node, path, mode !== 'read', limit, () =>
        opened.delete(file),
      );
      opened.add(file);
      return file;
    },
    async rename(from, to) {
      await turn();
      volume.rename(from, to);
    },
    async unlink(path) {
      await turn();
      volume.unlink(path);
    },
    async makeDirectory(path) {
      await turn();
      volume.makeDirectory(path);
    },
    async readDirectory(path) {
      await turn();
      if (volume.find(path, 'scandir') === undefined) return [];
      const entries = [...volume.directory(path, 'scandir').current];
      return entries
        .map(([name, { kind }]) => ({ name, kind }))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    async syncDirectory(path) {
      const upTo = volume.sequence;
      await turn();
      volume.directory(path, 'fsync').sync(upTo);
    },
    async stat(path) {
      await turn();
      const node = volume.find(path, 'stat');
      return node === undefined ? undefined : statOf(node);
    },
    async readFile(path) {
      await turn();
      if (volume.find(path, 'open') === undefined) return undefined;
      return Buffer.from(volume.file(path, 'read').current.view());
    },
    async space() {
      await turn();
      return { freeBytes: freeBytes(), totalBytes };
    },
    afterPowerLoss: (loss) => diskOf(volume.after(loss), totalBytes),
    copy: () => diskOf(volume.copy(), totalBytes),
    openPaths: () => [...opened].map(({ path }) => path),
  };
}

function memoryFile(
  volume: MemoryVolume,
  node: MemoryFile,
  path: string,
  isWritable: boolean,
  freeBytes: (() => number) | undefined,
  onClose: () => void,
): SpoilableFile {
  let isOpen = true;
  const enter = async (call: string, isWrite: boolean): Promise<void> => {
    if (!isOpen) throw platformError('EBADF', call, path);
    await turn();
    if (isWrite && !isWritable) throw platformError('EBADF', call, path);
  };
  return {
    path,
    async readAt(into, offset) {
      await enter('read', false);
      const from = node.current.view().subarray(offset, offset + into.byteLength);
      into.set(from);
      return from.byteLength;
    },
    async writeAt(buffers, offset) {
      await enter('write', true);
      const bytes = Buffer.concat(buffers);
      const growth = offset + bytes.length - node.current.size;
      if (freeBytes !== undefined && growth > 0 && growth > freeBytes())
        throw platformError('ENOSPC', 'write', path);
      volume.change(node, { kind: 'write', offset, bytes });
    },
    async sync() {
      const upTo = volume.sequence;
      await enter('fdatasync', false);
      volume.syncFile(node, upTo);
    },
    async truncate(size) {
      await enter('ftruncate', true);
      volume.change(node, { kind: 'truncate', size });
    },
    async size() {
      await enter('fstat', false);
      return node.current.size;
    },
    async close() {
      await turn();
      isOpen = false;
      onClose();
    },
    failSync: () => node.failSync(),
  };
}

function statOf(node: MemoryNode): DiskStat {
  const isFile = node.kind === 'file';
  return {
    kind: node.kind,
    size: isFile ? node.current.size : 0,
    mode: isFile ? 0o600 : 0o700,
    device: 1,
    inode: node.inode,
    modifiedMs: node.modifiedAt,
  };
}
