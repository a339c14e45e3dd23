import { constants, open, type Dirent, type Stats } from 'node:fs';
import * as fs from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Disk, DiskEntry, DiskStat } from './disk.ts';
import { nodeFile } from './node-file.ts';
import { platformCode } from './platform-error.ts';

/** Files and folders are their owner's alone. */
const fileMode = 0o600;
const directoryMode = 0o700;

const openFlags = {
  read: constants.O_RDONLY,
  write: constants.O_RDWR | constants.O_CREAT,
  create: constants.O_RDWR | constants.O_CREAT | constants.O_EXCL,
} as const;

/** The real disk. */
export function nodeDisk(): Disk {
  return {
    async open(path, mode) {
      const fd = await new Promise<number>((resolve, reject) => {
        open(path, openFlags[mode], fileMode, (error, opened) =>
          error ? reject(error) : resolve(opened),
        );
      });
      return nodeFile(path, fd);
    },
    rename: (from, to) => fs.rename(from, to),
    unlink: (path) => fs.unlink(path),
    async removeDirectory(path) {
      await unlessAbsent(fs.rmdir(path));
    },
    async makeDirectory(path) {
      await makeTree(path);
    },
    async readDirectory(path) {
      const entries = await unlessAbsent(fs.readdir(path, { withFileTypes: true }));
      return (entries ?? []).map(entryOf).sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    syncDirectory,
    async stat(path) {
      const stats = await unlessAbsent(fs.stat(path));
      return stats === undefined ? undefined : statOf(stats);
    },
    readFile: (path) => unlessAbsent(fs.readFile(path)),
    async space(path) {
      const { bavail, blocks, bsize } = await fs.statfs(path);
      return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
    },
  };
}

/**
 * Makes a folder and what lacks above it. Not `recursive` of Node.js: where a file system answers ENOENT below a folder that is there (`/proc`),
 * that tries for ever, and no signal ends it.
 */
async function makeTree(path: string): Promise<void> {
  try {
    await fs.mkdir(path, { mode: directoryMode });
  } catch (error) {
    const stats = await unlessAbsent(fs.stat(path));
    if (stats?.isDirectory() === true) return;
    const parent = dirname(path);
    if (platformCode(error) !== 'ENOENT' || parent === path) throw error;
    await makeTree(parent);
    await makeLeaf(path);
  }
}

/** Its parent is there now; somebody else may have made it meanwhile. */
async function makeLeaf(path: string): Promise<void> {
  try {
    await fs.mkdir(path, { mode: directoryMode });
  } catch (error) {
    if (platformCode(error) !== 'EEXIST') throw error;
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await fs.open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Absence is a value; every other failure stays one. */
async function unlessAbsent<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (platformCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function kindOf(of: Dirent | Stats): DiskEntry['kind'] {
  if (of.isFile()) return 'file';
  return of.isDirectory() ? 'directory' : 'other';
}

function entryOf(entry: Dirent): DiskEntry {
  return { name: entry.name, kind: kindOf(entry) };
}

function statOf(stats: Stats): DiskStat {
  return {
    kind: kindOf(stats),
    size: stats.size,
    mode: stats.mode & 0o7777,
    device: stats.dev,
    inode: stats.ino,
    modifiedMs: stats.mtimeMs,
  };
}
