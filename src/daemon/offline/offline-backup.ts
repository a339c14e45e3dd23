import { join } from 'node:path';
import {
  createBackup,
  drillFailed,
  restoreBackup,
  type BackupBooks,
  type BackupProgress,
  type Manifest,
  type RestoreReport,
} from '#backup';
import { systemChance, systemClock } from '#base';
import { loadConfig } from '#config';
import { nodeDisk, removeTree, stagingNames } from '#disk';
import { rebindQueue } from '../assemble.ts';
import { confineBackupPath } from '../desk/backup-path.ts';
import { backupSources } from '../desk/backup-sources.ts';
import { withCore } from '../boot/core.ts';
import type { DaemonOptions } from '../daemon.ts';
import { residualOf } from '../watch/watch-residual.ts';

type Tell = (progress: BackupProgress) => void;

/** A backup of a root that nobody serves, under its lock: it is recovered first, as a start would. */
export async function backupOffline(
  options: DaemonOptions,
  order: { readonly path: string; readonly signal: AbortSignal; readonly tell: Tell },
): Promise<{ readonly manifest: Manifest; readonly path: string }> {
  return withCore(options, async ({ ground, root, permit, control, stores, work }) => {
    const rules = { root: root.layout.root, directory: null, isListeningBeyondLoopback: false };
    const path = await confineBackupPath(order.path, rules);
    const { loaded } = options;
    const { clock, disk, names, chance } = ground;
    const { drain } = work;
    const sources = backupSources({ root, permit, control, stores, drain, loaded, clock });
    const { signal, tell } = order;
    const product = options.version;
    const manifest = await createBackup({
      path,
      sources,
      disk,
      names,
      clock,
      chance,
      product,
      signal,
      tell,
    });
    return { manifest, path };
  });
}

/** Restores a backup into an empty folder. */
export function restoreOffline(from: string, to: string, tell: Tell): Promise<RestoreReport> {
  process.umask(0o077);
  const disk = nodeDisk();
  const names = stagingNames(process.pid, systemChance);
  return restoreBackup({
    from,
    to,
    disk,
    names,
    clock: systemClock,
    chance: systemChance,
    rebindQueue: (directory, rootId, origin) =>
      rebindQueue({ disk, names }, directory, rootId, origin),
    tell,
  });
}

export interface DrillReport {
  readonly manifest: Manifest;
  /** Digest of the restored graph before anything was drained; equal to that of the manifest. */
  readonly digest: string;
  /** After all that waited was drained as well. */
  readonly drainedDigest: string;
  readonly drained: BackupBooks & { readonly residual: number };
}

/**
 * The drill (FEN-709): verifies every byte, restores into a folder of its own below `work`, opens it as a daemon does, compares graph and books
 * with the manifest, drains what waits, and takes the folder away again. Rejects with BACKUP_DAMAGED by name, or DRILL_FAILED.
 */
export async function drillBackup(
  path: string,
  options: {
    readonly work: string;
    readonly version: string;
    readonly signal: AbortSignal;
    readonly tell: Tell;
  },
): Promise<DrillReport> {
  const { work, version, signal, tell } = options;
  const folder = join(work, `millrace-drill-${systemChance.uuid()}`);
  try {
    const { manifest } = await restoreOffline(path, folder, tell);
    tell({ step: 'opening the restored root', files: manifest.files.length, bytes: 0 });
    const settings = { 'queue.key_encoding': manifest.keyEncoding };
    const core: DaemonOptions = {
      loaded: loadConfig({ flags: settings }),
      root: { path: folder, source: 'cli' },
      failpoints: undefined,
      version,
    };
    return await withCore(core, async ({ stores, work: { context, drain } }) => {
      const { digest } = await stores.graph.digest();
      compareBooks(path, manifest, { ...stores.queue.totals() });
      if (digest !== manifest.graph.digest)
        throw drillFailed({ path, reason: `its graph has the digest ${digest} now` });
      const { changed } = await context.adopt({ isDryRun: false, signal });
      const lacking = changed.behind + changed.missing;
      if (lacking > 0)
        throw drillFailed({ path, reason: `its graph lacks records of ${lacking} sessions` });
      drain.start();
      await drain.idle(signal);
      const totals = stores.queue.totals();
      const residual = residualOf(totals);
      if (residual !== 0 || drain.status().mismatchedKeys > 0)
        throw drillFailed({ path, reason: `${residual} records are lost or doubled in its books` });
      const { accepted, applied, pending, dead, discarded, duplicates } = totals;
      const drained = { accepted, applied, pending, dead, discarded, duplicates, residual };
      const { digest: drainedDigest } = await stores.graph.digest();
      return { manifest, digest, drainedDigest, drained };
    });
  } finally {
    await removeTree(folder);
  }
}

const compared = ['accepted', 'applied', 'pending', 'dead', 'discarded'] as const;

function compareBooks(path: string, { books }: Manifest, found: Readonly<BackupBooks>): void {
  for (const member of compared)
    if (books[member] !== found[member])
      throw drillFailed({
        path,
        reason: `${found[member]} records are ${member}, ${books[member]} were when it was made`,
      });
}
