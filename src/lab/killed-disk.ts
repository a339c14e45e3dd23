import type { Disk, DiskFile } from '#disk';

export interface KilledDisk extends Disk {
  /** Calls made so far that change something. */
  readonly changes: number;
  /** Resolves when the process was killed. */
  readonly killed: Promise<void>;
}

/**
 * A disk under a process that is killed after `killAt` changing calls: from then on no call of it comes back and none is made. What was written
 * before stays in the cache, as after kill -9.
 */
export function killedDisk(
  inner: Disk,
  killAt: number,
  /** Kills right after a rename to a path that matches, however many calls that took. */
  killAfterRenameTo?: RegExp,
): KilledDisk {
  let changes = 0;
  let isRenamed = false;
  const { promise: killed, resolve: kill } = Promise.withResolvers<void>();
  const never = new Promise<never>(() => undefined);
  const isKilled = (): boolean => {
    const isOver = changes >= killAt || isRenamed;
    if (isOver) kill();
    return isOver;
  };
  const change = async <T>(act: () => Promise<T>): Promise<T> => {
    if (isKilled()) return never;
    changes += 1;
    return act();
  };
  const read = async <T>(act: () => Promise<T>): Promise<T> => (isKilled() ? never : act());
  const fileOf = (file: DiskFile): DiskFile => ({
    path: file.path,
    readAt: (into, offset) => read(() => file.readAt(into, offset)),
    writeAt: (buffers, offset) => change(() => file.writeAt(buffers, offset)),
    sync: () => change(() => file.sync()),
    truncate: (size) => change(() => file.truncate(size)),
    size: () => read(() => file.size()),
    close: () => file.close(),
  });
  return {
    get changes() {
      return changes;
    },
    killed,
    open: async (path, mode) =>
      fileOf(await (mode === 'read' ? read : change)(() => inner.open(path, mode))),
    rename: (from, to) =>
      change(async () => {
        await inner.rename(from, to);
        isRenamed = killAfterRenameTo?.test(to) === true;
      }),
    unlink: (path) => change(() => inner.unlink(path)),
    makeDirectory: (path) => change(() => inner.makeDirectory(path)),
    readDirectory: (path) => read(() => inner.readDirectory(path)),
    syncDirectory: (path) => change(() => inner.syncDirectory(path)),
    stat: (path) => read(() => inner.stat(path)),
    readFile: (path) => read(() => inner.readFile(path)),
    space: (path) => read(() => inner.space(path)),
  };
}
