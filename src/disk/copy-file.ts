import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Disk } from './disk.ts';

/** A file as a copy shall have it: the first bytes of one that is there and may grow, or its content. */
export type CopySource =
  | { readonly name: string; readonly path: string; readonly bytes: number }
  | { readonly name: string; readonly content: Uint8Array };

/** What was written: enough to know it again (P11). */
export interface CopiedFile {
  /** Path below the folder of the copy, with slashes. */
  readonly name: string;
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

const chunkBytes = 256 * 1024;

/** Copies one file below `folder`, which it makes as deep as it needs, and syncs its bytes; names are for the caller to sync. */
export async function copyFile(
  disk: Disk,
  source: CopySource,
  folder: string,
): Promise<CopiedFile> {
  const path = join(folder, ...source.name.split('/'));
  await disk.makeDirectory(dirname(path));
  const target = await disk.open(path, 'create');
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const chunk of chunksOf(disk, source)) {
      hash.update(chunk);
      await target.writeAt([chunk], bytes);
      bytes += chunk.byteLength;
    }
    await target.sync();
  } finally {
    await target.close();
  }
  return { name: source.name, bytes, sha256: hash.digest('hex') };
}

async function* chunksOf(disk: Disk, source: CopySource): AsyncGenerator<Uint8Array> {
  if ('content' in source) {
    yield source.content;
    return;
  }
  yield* readChunks(disk, source.path, source.bytes);
}

/** SHA-256 and size of a file as it lies there; undefined when there is none. */
export async function digestFile(
  disk: Disk,
  path: string,
): Promise<{ readonly bytes: number; readonly sha256: string } | undefined> {
  const stat = await disk.stat(path);
  if (stat?.kind !== 'file') return undefined;
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of readChunks(disk, path, stat.size)) {
    hash.update(chunk);
    bytes += chunk.byteLength;
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** The first `length` bytes, or what there is of them. */
async function* readChunks(disk: Disk, path: string, length: number): AsyncGenerator<Uint8Array> {
  const file = await disk.open(path, 'read');
  try {
    for (let at = 0; at < length;) {
      const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, length - at));
      const count = await file.readAt(buffer, at);
      if (count === 0) return;
      at += count;
      yield buffer.subarray(0, count);
    }
  } finally {
    await file.close();
  }
}

/** Every file below a folder, as paths with slashes; links and other things that are no file are named apart, never followed. */
export async function listTree(
  disk: Disk,
  folder: string,
): Promise<{
  readonly files: readonly string[];
  readonly folders: readonly string[];
  readonly others: readonly string[];
}> {
  const found = { files: [] as string[], folders: [] as string[], others: [] as string[] };
  const walk = async (below: string): Promise<void> => {
    const path = below === '' ? folder : join(folder, ...below.split('/'));
    for (const { name, kind } of await disk.readDirectory(path)) {
      const full = below === '' ? name : `${below}/${name}`;
      if (kind === 'file') found.files.push(full);
      else if (kind === 'directory') {
        found.folders.push(full);
        await walk(full);
      } else found.others.push(full);
    }
  };
  await walk('');
  return found;
}

/** Makes every name below a folder durable, the deepest first, and the folder's own. */
export async function syncTree(disk: Disk, folder: string): Promise<void> {
  const { folders } = await listTree(disk, folder);
  for (const name of folders.toReversed())
    await disk.syncDirectory(join(folder, ...name.split('/')));
  await disk.syncDirectory(folder);
}
