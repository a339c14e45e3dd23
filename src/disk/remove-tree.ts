import { rm } from 'node:fs/promises';

/** Takes a folder away with all that is in it; links are unlinked, not followed. Only for what this program has staged itself. */
export function removeTree(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true });
}
