import { formatBytes } from '#base';
import type { Disk } from '#disk';
import { vacuumRefused } from './errors.ts';
import { bytesBelow } from './measure-storage.ts';

/** A component that can give back what it does not use. */
export interface Compressible {
  readonly name: 'queue' | 'control' | 'graph';
  readonly folder: string;
  /** It is written anew beside itself first, so it takes its own size twice for a while. */
  readonly isCopied: boolean;
  giveBack(): Promise<void>;
}

export interface GivenBack {
  readonly name: string;
  readonly before: number;
  readonly after: number;
}

/**
 * Gives disk back to the file system, one component after another: journal segments that wait to be used again, free pages of the databases.
 * VACUUM_REFUSED, before anything is done, where there is no room to write one anew. Interrupted, nothing is lost and it is taken again.
 */
export async function vacuum(
  components: readonly Compressible[],
  {
    disk,
    root,
    reserveBytes,
  }: { readonly disk: Disk; readonly root: string; readonly reserveBytes: number },
): Promise<readonly GivenBack[]> {
  const done: GivenBack[] = [];
  for (const { name, folder, isCopied, giveBack } of components) {
    const before = await bytesBelow(disk, folder);
    const { freeBytes } = await disk.space(root);
    const needed = isCopied ? 2 * before + reserveBytes : 0;
    if (freeBytes < needed)
      throw vacuumRefused({
        component: name,
        reason: `${formatBytes(needed)} must be free to write it anew, and ${formatBytes(freeBytes)} are`,
      });
    await giveBack();
    done.push({ name, before, after: await bytesBelow(disk, folder) });
  }
  return done;
}
