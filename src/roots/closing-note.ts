import { join } from 'node:path';
import { isJsonObject, JsonInvalid, parseJson, type Clock } from '#base';
import { atomicReplace, digestFile, type Disk, type StagingNames } from '#disk';
import type { RootLayout } from './layout.ts';

/** Stores whose files have no checksum of their own that a reader could follow. */
export type BareStore = 'control' | 'state' | 'graph';

/** A file as a stop in order left it. */
export interface LeftFile {
  readonly bytes: number;
  /** Lower-case hex; null for a file that was too large to be read at every start and stop. */
  readonly sha256: string | null;
  readonly inode: number;
  readonly modifiedMs: number;
}

/** What a stop in order leaves, and the next bind takes away: what a killed process leaves is told by nobody. */
export interface ClosingNote {
  /** Queue and graph were compared over all sessions in this life, or an earlier one that left these very files, and agreed. */
  readonly hasAgreed: boolean;
  readonly files: Partial<Readonly<Record<BareStore, LeftFile>>>;
}

/** `same`: as it was left; `changed`: it was left in order and has other bytes now; `unknown`: nobody can say. */
export type LeftVerdict = 'same' | 'changed' | 'unknown';
export type LeftVerdicts = Readonly<Record<BareStore, LeftVerdict>>;

/** A larger file would hold up starts and stops (ING-821); its size, inode and time speak for it. */
export const digestedBytesMax: number = 128 * 1024 * 1024;

const version = 1;
const stores: readonly BareStore[] = ['control', 'state', 'graph'];

/** The files that are judged; beside a SQLite file nothing may wait to be written into it. */
export function bareFiles(layout: RootLayout): Readonly<Record<BareStore, string>> {
  return {
    control: layout.controlDatabase,
    state: join(layout.state, 'data.mdb'),
    graph: layout.graphDatabase,
  };
}

/** Reads the note and takes it away, durably: whoever opens a store from here on changes it. One that cannot be read says nothing. */
export async function takeClosingNote(
  disk: Disk,
  layout: RootLayout,
): Promise<ClosingNote | undefined> {
  const bytes = await disk.readFile(layout.closingNote);
  if (bytes === undefined) return undefined;
  await disk.unlink(layout.closingNote);
  await disk.syncDirectory(layout.maintenance);
  return parseClosingNote(bytes);
}

/** After every store is closed, and before the root's lock goes. */
export async function leaveClosingNote(
  {
    disk,
    names,
    clock,
  }: { readonly disk: Disk; readonly names: StagingNames; readonly clock: Clock },
  layout: RootLayout,
  hasAgreed: boolean,
): Promise<void> {
  const files: Partial<Record<BareStore, object>> = {};
  const paths = bareFiles(layout);
  for (const store of stores) {
    const file = await leftFile(disk, paths[store]);
    if (file === undefined) continue;
    const { bytes, sha256, inode, modifiedMs } = file;
    files[store] = { bytes, sha256, inode, modified_ms: modifiedMs };
  }
  const closed = new Date(clock.now()).toISOString();
  const note = { v: version, closed_at: closed, has_agreed: hasAgreed, files };
  await atomicReplace(disk, layout.closingNote, Buffer.from(`${JSON.stringify(note)}\n`), names);
}

/** Compares the files that are there with those that were left; reads what is not too large. */
export async function judgeLeft(
  disk: Disk,
  layout: RootLayout,
  note: ClosingNote | undefined,
): Promise<LeftVerdicts> {
  const paths = bareFiles(layout);
  const judge = async (store: BareStore): Promise<LeftVerdict> => {
    const left = note?.files[store];
    return left === undefined ? 'unknown' : judgeFile(left, await leftFile(disk, paths[store]));
  };
  return {
    control: await judge('control'),
    state: await judge('state'),
    graph: await judge('graph'),
  };
}

/** Pure. A file that is missing is told by whoever opens it. */
export function judgeFile(left: LeftFile, found: LeftFile | undefined): LeftVerdict {
  if (found === undefined) return 'unknown';
  if (found.bytes !== left.bytes) return 'changed';
  if (left.sha256 !== null && found.sha256 !== null)
    return found.sha256 === left.sha256 ? 'same' : 'changed';
  // A root that was copied has other inodes and times, and is no less well for it.
  return found.inode === left.inode && found.modifiedMs === left.modifiedMs ? 'same' : 'unknown';
}

/** Undefined where there is none, or where a write-ahead log holds more of it. */
async function leftFile(disk: Disk, path: string): Promise<LeftFile | undefined> {
  const found = await disk.stat(path);
  if (found?.kind !== 'file') return undefined;
  if (((await disk.stat(`${path}-wal`))?.size ?? 0) > 0) return undefined;
  const { size: bytes, inode, modifiedMs } = found;
  const digest = bytes > digestedBytesMax ? undefined : await digestFile(disk, path);
  return { bytes, sha256: digest?.sha256 ?? null, inode, modifiedMs };
}

export function parseClosingNote(bytes: Uint8Array): ClosingNote | undefined {
  try {
    const json = parseJson(bytes);
    if (!isJsonObject(json) || json['v'] !== version || !isJsonObject(json['files']))
      return undefined;
    const given = json['files'];
    const files: Partial<Record<BareStore, LeftFile>> = {};
    for (const store of stores) {
      const file = parseFile(given[store]);
      if (file !== undefined) files[store] = file;
    }
    return { hasAgreed: json['has_agreed'] === true, files };
  } catch (error) {
    if (error instanceof JsonInvalid) return undefined;
    throw error;
  }
}

function parseFile(value: unknown): LeftFile | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { bytes, sha256, inode, modified_ms: modifiedMs } = value as Record<string, unknown>;
  const isDigest = sha256 === null || typeof sha256 === 'string';
  return typeof bytes === 'number' &&
    isDigest &&
    typeof inode === 'number' &&
    typeof modifiedMs === 'number'
    ? { bytes, sha256, inode, modifiedMs }
    : undefined;
}
