import type { Disk } from './disk.ts';

const limitsFile = '/proc/self/limits';

/** Files and sockets that this process may have open at once; undefined where the platform does not tell it in a file. */
export async function openFilesMax(disk: Pick<Disk, 'readFile'>): Promise<number | undefined> {
  const bytes = await disk.readFile(limitsFile);
  if (bytes === undefined) return undefined;
  const [, soft] = /^Max open files\s+(\d+)\s/m.exec(Buffer.from(bytes).toString('latin1')) ?? [];
  return soft === undefined ? undefined : Number(soft);
}
