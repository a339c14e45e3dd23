import { dirname } from 'node:path';
import { assert } from '#base';
import type { Disk } from './disk.ts';
import { platformCode } from './platform-error.ts';
import type { StagingNames } from './staging-names.ts';

/**
 * Replaces a file as a whole: readers and a power loss see the old bytes or the new ones, and when it resolves the new ones are durable.
 * A failed call rejects with the platform's error and takes its own staging file away, nobody else's (ING-233); after a failure of the last
 * step, the sync of the folder, either of the two may be found. Rules ING-230, ING-231.
 */
export async function atomicReplace(
  disk: Disk,
  path: string,
  bytes: Uint8Array,
  names: StagingNames,
): Promise<void> {
  const staging = names.nextFor(path);
  await writeNew(disk, staging, bytes);
  try {
    await disk.rename(staging, path);
  } catch (error) {
    await removeOwn(disk, staging);
    throw error;
  }
  await disk.syncDirectory(dirname(path));
}

/** Creates a file that must not be there, with synced content; its folder is not synced yet. */
async function writeNew(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const file = await openNew(disk, path);
  try {
    try {
      await file.writeAt([bytes], 0);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    await removeOwn(disk, path);
    throw error;
  }
}

async function openNew(disk: Disk, path: string): ReturnType<Disk['open']> {
  try {
    return await disk.open(path, 'create');
  } catch (error) {
    assert(platformCode(error) !== 'EEXIST', `staging name ${path} was given out twice (ING-231)`);
    throw error;
  }
}

/** The first failure is the one that the caller must see; what stays behind is reclaimed at the next start (ING-232). */
async function removeOwn(disk: Disk, staging: string): Promise<void> {
  await disk.unlink(staging).catch((error: unknown) => {
    assert(error instanceof Error, 'a disk rejects with errors');
  });
}
