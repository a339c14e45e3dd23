import type { Disk, DiskFile } from './disk.ts';
import { isSpoilable } from './memory-disk.ts';
import { platformError } from './platform-error.ts';

export type DiskCall = Exclude<keyof Disk | keyof DiskFile, 'path'>;

/** One planned failure. */
export interface DiskFault {
  /** Such as ENOSPC, EIO, EROFS, EMFILE. */
  readonly code: string;
  /** Calls that it counts and hits; every one but `close` where it is not given. */
  readonly calls?: readonly DiskCall[];
  /** Only calls whose path matches; of a rename the source. */
  readonly path?: RegExp;
  /** The first matching call that fails, 1 for the first; 1 where it is not given. */
  readonly nth?: number;
  /** How many matching calls fail from there: 1 (transient) where it is not given, Infinity for a persistent fault. */
  readonly times?: number;
  /** Of a write: bytes that reach the disk before it fails. */
  readonly bytesBefore?: number;
}

export interface FailingDisk extends Disk {
  /** Calls made so far, failed ones included; `close` counts too. */
  callCount(call?: DiskCall): number;
  /** Calls that a fault has hit. */
  failureCount(): number;
  /** Takes all faults away: the disk is well again. */
  heal(): void;
  /** Puts other faults in place of those there; their counting starts now. */
  plan(faults: readonly DiskFault[]): void;
}

interface Planned {
  readonly fault: DiskFault;
  seen: number;
}

/**
 * Fails calls of `inner` as planned, without making them; all others go through. A failed sync tells a memory or recording disk below that the
 * unsynced bytes are uncertain from now on. A failed close still closes.
 */
export function failingDisk(inner: Disk, faults: readonly DiskFault[] = []): FailingDisk {
  const counts = new Map<DiskCall, number>();
  let planned = plannedOf(faults);
  let failures = 0;

  /** The fault that hits this call, if any; every matching one counts it. */
  const hit = (call: DiskCall, path: string): DiskFault | undefined => {
    counts.set(call, (counts.get(call) ?? 0) + 1);
    let found: DiskFault | undefined;
    for (const plan of planned) {
      if (!matches(plan.fault, call, path)) continue;
      plan.seen += 1;
      const nth = plan.fault.nth ?? 1;
      if (plan.seen >= nth && plan.seen < nth + (plan.fault.times ?? 1)) found ??= plan.fault;
    }
    if (found !== undefined) failures += 1;
    return found;
  };

  const guard = async <T>(call: DiskCall, path: string, go: () => Promise<T>): Promise<T> => {
    const fault = hit(call, path);
    if (fault !== undefined) throw platformError(fault.code, call, path);
    return go();
  };

  return {
    callCount: (call) =>
      call === undefined
        ? [...counts.values()].reduce((a, b) => a + b, 0)
        : (counts.get(call) ?? 0),
    failureCount: () => failures,
    heal() {
      planned = [];
    },
    plan(next) {
      planned = plannedOf(next);
    },
    open: (path, mode) =>
      guard('open', path, async () => failingFile(await inner.open(path, mode), hit, guard)),
    rename: (from, to) => guard('rename', from, () => inner.rename(from, to)),
    unlink: (path) => guard('unlink', path, () => inner.unlink(path)),
    makeDirectory: (path) => guard('makeDirectory', path, () => inner.makeDirectory(path)),
    readDirectory: (path) => guard('readDirectory', path, () => inner.readDirectory(path)),
    syncDirectory: (path) => guard('syncDirectory', path, () => inner.syncDirectory(path)),
    stat: (path) => guard('stat', path, () => inner.stat(path)),
    readFile: (path) => guard('readFile', path, () => inner.readFile(path)),
    space: (path) => guard('space', path, () => inner.space(path)),
  };
}

type Hit = (call: DiskCall, path: string) => DiskFault | undefined;
type Guard = <T>(call: DiskCall, path: string, go: () => Promise<T>) => Promise<T>;

function failingFile(inner: DiskFile, hit: Hit, guard: Guard): DiskFile {
  const { path } = inner;
  return {
    path,
    readAt: (into, offset) => guard('readAt', path, () => inner.readAt(into, offset)),
    async writeAt(buffers, offset) {
      const fault = hit('writeAt', path);
      if (fault === undefined) return inner.writeAt(buffers, offset);
      const before = Buffer.concat(buffers).subarray(0, fault.bytesBefore ?? 0);
      if (before.length > 0) await inner.writeAt([before], offset);
      throw platformError(fault.code, 'writeAt', path);
    },
    async sync() {
      const fault = hit('sync', path);
      if (fault === undefined) return inner.sync();
      if (isSpoilable(inner)) inner.failSync();
      throw platformError(fault.code, 'sync', path);
    },
    truncate: (size) => guard('truncate', path, () => inner.truncate(size)),
    size: () => guard('size', path, () => inner.size()),
    async close() {
      const fault = hit('close', path);
      await inner.close();
      if (fault !== undefined) throw platformError(fault.code, 'close', path);
    },
  };
}

function plannedOf(faults: readonly DiskFault[]): readonly Planned[] {
  return faults.map((fault) => ({ fault, seen: 0 }));
}

function matches(fault: DiskFault, call: DiskCall, path: string): boolean {
  const isNamed = fault.calls === undefined ? call !== 'close' : fault.calls.includes(call);
  return isNamed && (fault.path === undefined || fault.path.test(path));
}
