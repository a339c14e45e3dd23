import { chmod } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Chance, Clock } from '#base';
import {
  atomicReplace,
  lockFile,
  makeDurableDirectory,
  platformCode,
  rootLocked,
  type Disk,
  type FileLock,
  type StagingNames,
} from '#disk';
import type { KeyEncoding } from '#record';
import { takeClosingNote, type ClosingNote } from './closing-note.ts';
import { readDaemonFile } from './daemon-file.ts';
import {
  caseInsensitive,
  rootForeign,
  rootInvalid,
  rootMissing,
  rootPermissions,
  restoreUnfinished,
} from './errors.ts';
import { foldersOf, foreignEntry, layoutOf, layoutVersion, type RootLayout } from './layout.ts';
import { formatMarker, markerFormat, parseMarker, type RootMarker } from './marker.ts';
import type { ChosenRoot } from './resolve-root.ts';

/** A root that this process holds: nobody else on this host can bind it (D7, ROOT-99). */
export interface BoundRoot {
  readonly layout: RootLayout;
  readonly marker: RootMarker;
  readonly source: ChosenRoot['source'];
  /** This bind made the marker. */
  readonly isNew: boolean;
  readonly lock: FileLock;
  /** What the last stop left, when it was in order; taken away by this bind. */
  readonly left: ClosingNote | undefined;
}

export interface BindOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly names: StagingNames;
  /** Of a new root; a root that is there must have been made with the same one. */
  readonly keyEncoding: KeyEncoding;
  /** A marker that this bind makes says that failpoints are honoured (ING-021). Never by `serve`. */
  readonly isLab?: boolean;
}

/**
 * Binds a root: checks what is there, takes the lock, reads the marker or makes a new root where that is allowed (ROOT-39, ROOT-40).
 * Errors: ROOT_LOCKED (`retry`), and `fatal` ROOT_FOREIGN, ROOT_MISSING, ROOT_INVALID, ROOT_UNREADABLE, ROOT_PERMISSIONS,
 * FS_CASE_INSENSITIVE, FORMAT_TOO_NEW, LOCK_UNAVAILABLE. Where it refuses a folder that is no root, nothing was written into it.
 */
export async function bindRoot(chosen: ChosenRoot, options: BindOptions): Promise<BoundRoot> {
  const { layout, lock } = await openFolder(chosen, options, (found) =>
    checkFolder(chosen, found, options.disk),
  );
  try {
    return await readOrMake(chosen, layout, lock, options);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** A folder that may be used, made where it is missing, and its lock; looked at again once the lock is held (ROOT-111). */
export async function openFolder(
  chosen: ChosenRoot,
  options: BindOptions,
  check: (layout: RootLayout, options: BindOptions) => Promise<void>,
): Promise<{ readonly layout: RootLayout; readonly lock: FileLock }> {
  const layout = layoutOf(chosen.path);
  await asInvalid(layout.root, async () => {
    await check(layout, options);
    await makeRoot(layout, options.disk);
  });
  const lock = await takeLock(layout, options.disk);
  try {
    await check(layout, options);
    return { layout, lock };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Answers of the platform to a path that can be no folder: a mistake in what was asked for, and no fault of a disk that may pass. */
const impossible: Readonly<Record<string, string>> = {
  ENOTDIR: 'a part of its path is a file',
  ENOENT: 'no folder can be made there',
  ELOOP: 'its path goes round in symbolic links',
  ENAMETOOLONG: 'its path is too long',
};

async function asInvalid(root: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    const code = platformCode(error);
    const reason = code === undefined ? undefined : impossible[code];
    if (reason === undefined) throw error;
    throw rootInvalid({ root, reason: `${reason} (${code})` }, error);
  }
}

const markerLost =
  'root.json is missing, though the stores of a root lie there: put it back; its storage_root_id is the root_id of queue/format.json, and docs/disk-format.md has its form';

async function checkFolder(chosen: ChosenRoot, layout: RootLayout, disk: Disk): Promise<void> {
  const root = layout.root;
  const found = await disk.stat(root);
  if (found !== undefined && found.kind !== 'directory')
    throw rootInvalid({ root, reason: 'it is no folder' });
  if ((await disk.stat(layout.restoreJournal)) !== undefined) throw restoreUnfinished({ root });
  const hasMarker = (await disk.stat(layout.marker)) !== undefined;
  if (hasMarker) {
    if (found !== undefined) checkMode(root, found.mode);
    return;
  }
  const names = (await disk.readDirectory(root)).map(({ name }) => name);
  // Who is sent elsewhere for a lost marker begins with an empty root. A backup has none either, and a manifest.
  const isRoot = ['queue', 'state', 'control'].every((name) => names.includes(name));
  if (isRoot && !names.includes('manifest.json')) throw rootInvalid({ root, reason: markerLost });
  const foreign = foreignEntry(names);
  if (foreign !== undefined) throw rootForeign({ root, found: foreign });
  if (chosen.source === 'env') throw rootMissing({ root, source: 'MILLRACE_ROOT' });
  // An empty folder that was named to become a root is closed here; one that holds a store is its owner's to close.
  if (found !== undefined && isOpenToOthers(found.mode)) await chmod(root, 0o700);
}

function checkMode(root: string, mode: number): void {
  if (isOpenToOthers(mode))
    throw rootPermissions({ root, mode: (mode & 0o777).toString(8).padStart(3, '0') });
}

function isOpenToOthers(mode: number): boolean {
  return process.platform !== 'win32' && (mode & 0o077) !== 0;
}

/** Makes the root where it is missing, parents included, and the folder of its lock. */
async function makeRoot({ root, maintenance }: RootLayout, disk: Disk): Promise<void> {
  let standing = root;
  while ((await disk.stat(standing)) === undefined) standing = dirname(standing);
  await makeDurableDirectory(disk, maintenance, standing);
}

/** A refusal names who holds the root, from the hint that a serving daemon leaves (ROOT-101). */
async function takeLock(layout: RootLayout, disk: Disk): Promise<FileLock> {
  try {
    return await lockFile(layout.lock);
  } catch (error) {
    if (!rootLocked.is(error)) throw error;
    const holder = await readDaemonFile(disk, layout.daemonFile);
    if (holder === undefined) throw rootLocked({ path: layout.root }, error);
    const name = `the daemon at ${holder.url} (pid ${holder.pid})`;
    throw rootLocked({ path: layout.root, holder: name }, error);
  }
}

async function readOrMake(
  chosen: ChosenRoot,
  layout: RootLayout,
  lock: FileLock,
  options: BindOptions,
): Promise<BoundRoot> {
  const { disk } = options;
  // Read again under the lock: another first start may have made the marker meanwhile (ROOT-111).
  const bytes = await disk.readFile(layout.marker);
  const marker = bytes === undefined ? newMarker(options) : parseMarker(layout.root, bytes);
  if (bytes === undefined)
    await atomicReplace(disk, layout.marker, formatMarker(marker), options.names);
  if (marker.keyEncoding !== options.keyEncoding) {
    const reason = `it was made with queue.key_encoding=${marker.keyEncoding}: set it to that`;
    throw rootInvalid({ root: layout.root, reason });
  }
  if (options.keyEncoding === 'plain' && (await isCaseInsensitive(disk, layout.root)))
    throw caseInsensitive({ root: layout.root });
  for (const folder of foldersOf(layout)) await makeDurableDirectory(disk, folder, layout.root);
  const left = await takeClosingNote(disk, layout);
  return { layout, marker, source: chosen.source, isNew: bytes === undefined, lock, left };
}

/** The marker answers to another spelling of its name only where upper and lower case are one. */
async function isCaseInsensitive(disk: Disk, root: string): Promise<boolean> {
  return (await disk.stat(join(root, 'ROOT.JSON'))) !== undefined;
}

export function newMarker({ clock, chance, keyEncoding, isLab }: BindOptions): RootMarker {
  return {
    format: markerFormat,
    layoutVersion,
    storageRootId: `SR-${Buffer.from(chance.bytes(16)).toString('hex')}`,
    state: 'active',
    createdAt: new Date(clock.now()).toISOString(),
    keyEncoding,
    isLab: isLab === true,
  };
}
