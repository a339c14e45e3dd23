import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Other processes that have a file open, by number; where the system does not tell (only Linux does, and only of a user's own), none. LMDB's write lock lies in
 * shared memory and names nobody, but whoever holds it has the file open.
 */
export async function whoHolds(path: string, ours: readonly number[]): Promise<readonly number[]> {
  const found: number[] = [];
  for (const name of await namesIn('/proc')) {
    const pid = Number(name);
    if (!Number.isSafeInteger(pid) || ours.includes(pid)) continue;
    const folder = join('/proc', name, 'fd');
    for (const fd of await namesIn(folder)) {
      if ((await linkOf(join(folder, fd))) !== path) continue;
      found.push(pid);
      break;
    }
  }
  return found;
}

/** A process that ends meanwhile, or is another user's, has none. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    return goneOr(error, []);
  }
}

async function linkOf(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    return goneOr(error, undefined);
  }
}

const codesOfGone: readonly unknown[] = ['ENOENT', 'EACCES', 'EPERM', 'ESRCH', 'ENOTDIR', 'EINVAL'];

function goneOr<T>(error: unknown, value: T): T {
  if (error instanceof Error && 'code' in error && codesOfGone.includes(error.code)) return value;
  throw error;
}
