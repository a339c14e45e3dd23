import { readdirSync, statSync, type Dirent } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** A file that is followed, as a listing sees it. */
export interface WatchedFile {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  /** Changes when another file takes the name. */
  readonly inode: number;
}

/** Deeper folders are not looked into: agents nest a handful. */
const depthMax = 12;
/** Of Amplifier: messages without events, beside the log that has them. */
const ignoredNames: ReadonlySet<string> = new Set(['transcript.jsonl']);

/**
 * All `.jsonl` files below these folders, in the order of their paths. Where a session of Amplifier has both of its logs, the one that names its
 * workspace stands for both. A folder that cannot be read is passed over, and told by `onTrouble`.
 */
export function listWatched(
  folders: readonly string[],
  onTrouble: (path: string, error: Error) => void,
): readonly WatchedFile[] {
  const paths = new Set<string>();
  for (const folder of folders) walk(folder, 0, paths, onTrouble);
  const files: WatchedFile[] = [];
  for (const path of [...paths].sort()) {
    const twin = join(dirname(path), 'context-intelligence', 'events.jsonl');
    if (basename(path) === 'events.jsonl' && paths.has(twin)) continue;
    const file = look(path);
    if (file !== undefined) files.push(file);
  }
  return files;
}

function walk(
  folder: string,
  depth: number,
  paths: Set<string>,
  onTrouble: (path: string, error: Error) => void,
): void {
  for (const entry of entriesOf(folder, onTrouble)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < depthMax) walk(path, depth + 1, paths, onTrouble);
    else if (entry.name.endsWith('.jsonl') && !ignoredNames.has(entry.name)) paths.add(path);
  }
}

function entriesOf(
  folder: string,
  onTrouble: (path: string, error: Error) => void,
): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    onTrouble(folder, error);
    return [];
  }
}

/** Undefined for one that has gone since it was listed, and for what is no file. */
function look(path: string): WatchedFile | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() !== true) return undefined;
  return { path, size: stats.size, mtimeMs: Math.floor(stats.mtimeMs), inode: stats.ino };
}
