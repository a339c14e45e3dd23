import type { MillraceError } from '#base';
import { backlogFull, queueFull, sessionQuarantined } from './errors.ts';

/** Written limits of a queue (P9), in bytes as they are stored. */
export interface QueueLimits {
  /** Backlog of one key: above it BACKLOG_FULL. */
  readonly bytesPerKeyMax: number;
  /** Backlog of all keys: above it QUEUE_FULL. */
  readonly bytesMax: number;
  /** Backlog of a key in quarantine: above it SESSION_QUARANTINED (ING-411). */
  readonly quarantineBacklogBytesMax: number;
  /** A larger cursor fails its commit (ING-212). */
  readonly cursorBytesMax: number;
}

export const queueLimitsDefault: QueueLimits = {
  bytesPerKeyMax: 256 * 2 ** 20,
  bytesMax: 8 * 2 ** 30,
  quarantineBacklogBytesMax: 64 * 2 ** 20,
  cursorBytesMax: 256 * 2 ** 10,
};

/** Share and cap of the disk that appends leave free where nothing is set (QFS-30). */
const reserveShare = 0.05;
const reserveBytesMax = 256 * 2 ** 20;

/** Bytes kept free for commits, dead letters and deletes: as set, else 256 MiB or 5 % of the file system, the smaller (QFS-30). Pure. */
export function reserveBytesOf(configured: number | null, diskTotalBytes: number): number {
  return configured ?? Math.min(reserveBytesMax, Math.floor(diskTotalBytes * reserveShare));
}

/** What a request would add to one key. */
export interface KeyLoad {
  readonly key: string;
  readonly backlogBytes: number;
  readonly addedBytes: number;
  /** Code of the fault that stopped the key; absent when it is well. */
  readonly quarantine?: string;
}

/** Quotas for the whole request, before anything of it is handed over (ING-023); the error names the keys that caused it. */
export function assertRoom(
  limits: QueueLimits,
  totalBytes: number,
  loads: readonly KeyLoad[],
): void {
  let added = 0;
  let isRefused = false;
  for (const load of loads) {
    added += load.addedBytes;
    isRefused ||= isStoppedFull(limits, load) || isFull(limits, load);
  }
  if (isRefused) throw refusalOf(limits, loads);
  if (totalBytes + added > limits.bytesMax)
    throw queueFull({
      limit: 'queue.max_bytes',
      usedBytes: totalBytes,
      limitBytes: limits.bytesMax,
    });
}

function isStoppedFull(limits: QueueLimits, load: KeyLoad): boolean {
  return load.quarantine !== undefined && loadedBytes(load) > limits.quarantineBacklogBytesMax;
}

function isFull(limits: QueueLimits, load: KeyLoad): boolean {
  return loadedBytes(load) > limits.bytesPerKeyMax;
}

function loadedBytes({ backlogBytes, addedBytes }: KeyLoad): number {
  return backlogBytes + addedBytes;
}

/** A key that is stopped goes before one that is full. */
function refusalOf(limits: QueueLimits, loads: readonly KeyLoad[]): MillraceError {
  const stopped = loads.filter((load) => isStoppedFull(limits, load));
  const [fault] = stopped;
  if (fault !== undefined)
    return sessionQuarantined({
      keys: stopped.map(({ key }) => key),
      reason: `${fault.quarantine}, and its backlog is full`,
    });
  const full = loads.filter((load) => isFull(limits, load));
  return backlogFull({
    keys: full.map(({ key }) => key),
    usedBytes: Math.max(...full.map(({ backlogBytes }) => backlogBytes)),
    limitBytes: limits.bytesPerKeyMax,
  });
}
