import { join, relative, sep } from 'node:path';
import { assert } from '#base';
import type { Disk } from './disk.ts';

/**
 * Makes `path` and its missing parents below `within`, a durable folder, and makes the entry of each level durable in the folder above it.
 * A level that is there already is synced as well: a process that died between the two steps may have left it in the cache alone.
 */
export async function makeDurableDirectory(
  disk: Disk,
  path: string,
  within: string,
): Promise<void> {
  const levels = relative(within, path);
  assert(!levels.startsWith('..'), `${path} is not inside ${within}`);
  let parent = within;
  for (const level of levels.split(sep).filter((name) => name !== '')) {
    await disk.makeDirectory(join(parent, level));
    await disk.syncDirectory(parent);
    parent = join(parent, level);
  }
}
