import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { backupPathRefused } from '#backup';
import { realPathOf } from '#disk';

export interface BackupPathRules {
  /** The root that is served: no backup lies in it (ROOT-16). */
  readonly root: string;
  /** `backup.dir`: where given, every backup lies in it. */
  readonly directory: string | null;
  /** Callers may sit on other machines: they choose no path of this one by themselves. */
  readonly isListeningBeyondLoopback: boolean;
}

/** The path that a backup may be written to, links followed; BACKUP_PATH_REFUSED for any other. A name without a folder goes into `backup.dir`. */
export async function confineBackupPath(given: string, rules: BackupPathRules): Promise<string> {
  const fail = (reason: string): Error => backupPathRefused({ path: given, reason });
  if (given === '' || given.includes('\0')) throw fail('it is no path');
  const { directory, root } = rules;
  const path = directory === null ? given : isAbsolute(given) ? given : join(directory, given);
  if (!isAbsolute(path)) throw fail('name it from the root of the file system');
  if (directory === null && rules.isListeningBeyondLoopback)
    throw fail('the daemon listens beyond loopback: set backup.dir, and name a folder in it');
  const folder = await realPathOf(dirname(path));
  if (folder === undefined) throw fail(`${dirname(path)} is not there`);
  const real = join(folder, basename(path));
  if (isWithin(real, (await realPathOf(root)) ?? root)) throw fail('it lies in the root');
  if (directory !== null) {
    const allowed = await realPathOf(directory);
    if (allowed === undefined) throw fail(`backup.dir, ${directory}, is not there`);
    if (!isWithin(real, allowed) || real === allowed) throw fail(`it is not in ${directory}`);
  }
  return real;
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (!way.startsWith('..') && !isAbsolute(way));
}
