import { dirname, join } from 'node:path';
import pLimit from 'p-limit';
import { isMillraceError, messageOf, type Chance, type Clock } from '#base';
import { openControlDatabase } from '#control';
import {
  copyFile,
  failpoint,
  syncTree,
  type CopiedFile,
  type Disk,
  type StagingNames,
} from '#disk';
import { takeTenure } from '#fence';
import type { RestoredFrom } from '#queue';
import { beginRestore, type RestoringRoot } from '#roots';
import { openLmdbState } from '#state';
import { backupDamaged, backupFailed } from './errors.ts';
import type { Manifest } from './manifest.ts';
import type { BackupProgress } from './sources.ts';
import { differenceOf, readManifest } from './verify-backup.ts';

export interface RestoreOrder {
  /** The backup. */
  readonly from: string;
  /** Absolute; empty or not there. */
  readonly to: string;
  readonly disk: Disk;
  readonly names: StagingNames;
  readonly clock: Clock;
  readonly chance: Chance;
  /** Gives the queue's folder to the new root and leaves the mark by which the next start adopts its graph (ING-542). */
  rebindQueue(directory: string, rootId: string, from: RestoredFrom): Promise<void>;
  tell(progress: BackupProgress): void;
}

export interface RestoreReport {
  readonly manifest: Manifest;
  readonly root: string;
  /** The restored root's own id: two live roots never share one (ROOT-44, ROOT-62). */
  readonly rootId: string;
}

/** Files copied at once. */
const copiesAtOnce = 8;
/** For people only. */
const notRestored: ReadonlySet<string> = new Set(['settings.json']);

/**
 * Restores a backup into an empty folder, which becomes a root of its own (ROOT-55, ROOT-318): every byte is compared with the manifest on its
 * way, the marker is written last, and until then no daemon takes the folder for a root. Interrupted, it is run again.
 * Errors: BACKUP_UNREADABLE (`reject`), BACKUP_DAMAGED (`corrupt`), ROOT_FOREIGN, ROOT_LOCKED, BACKUP_FAILED (`retry`).
 */
export async function restoreBackup(order: RestoreOrder): Promise<RestoreReport> {
  const { disk, clock, chance, names, from, to } = order;
  const manifest = await readManifest(disk, from);
  const { keyEncoding, isLab } = manifest;
  const restoring = await beginRestore(to, { disk, clock, chance, names, keyEncoding, isLab });
  try {
    await fill(order, manifest, restoring);
    // From the marker on it is a root, or one that only its journal keeps from being bound: nothing is taken away any more.
    const { storageRootId } = await restoring.finish();
    return { manifest, root: to, rootId: storageRootId };
  } catch (error) {
    if (isMillraceError(error)) throw error;
    throw backupFailed({ path: to, reason: messageOf(error) }, error);
  } finally {
    restoring.release();
  }
}

async function fill(
  order: RestoreOrder,
  manifest: Manifest,
  restoring: RestoringRoot,
): Promise<void> {
  try {
    await copyBack(order, manifest, restoring);
    await giveIdentity(order, manifest, restoring);
    await syncTree(order.disk, restoring.layout.root);
    await failpoint('restore:before-marker');
  } catch (error) {
    await undo(order, restoring, error);
    throw error;
  }
}

/** Leaves the folder empty; a disk that refuses that too is told beside the first failure. */
async function undo({ to }: RestoreOrder, restoring: RestoringRoot, why: unknown): Promise<void> {
  try {
    await restoring.undo();
  } catch (error) {
    const reason = `${messageOf(why)}; what was restored could not be taken away: ${messageOf(error)}`;
    throw backupFailed({ path: to, reason }, why);
  }
}

async function copyBack(
  order: RestoreOrder,
  manifest: Manifest,
  restoring: RestoringRoot,
): Promise<void> {
  const { disk, from, tell } = order;
  let [files, bytes] = [0, 0];
  let isDamaged = false;
  const limit = pLimit(copiesAtOnce);
  const copies = manifest.files
    .filter(({ name }) => !notRestored.has(name))
    .map((expected) =>
      limit(async () => {
        if (isDamaged) return;
        const { name } = expected;
        const path = join(from, ...name.split('/'));
        const found = await copyBackOne(disk, path, expected, restoring.layout.root);
        const problem = differenceOf(found, expected);
        if (problem !== undefined) {
          isDamaged = true;
          throw backupDamaged({ path: from, file: name, reason: problem });
        }
        files += 1;
        bytes += expected.bytes;
        tell({ step: 'copying', files, bytes });
      }),
    );
  // All have ended before the first failure is told: nothing is written beside an undo.
  for (const end of await Promise.allSettled(copies))
    if (end.status === 'rejected') throw end.reason;
}

async function copyBackOne(
  disk: Disk,
  path: string,
  { name, bytes }: CopiedFile,
  root: string,
): Promise<CopiedFile | undefined> {
  const stat = await disk.stat(path);
  if (stat?.kind !== 'file') return undefined;
  // One that has grown is found out by its size, one that was cut by what comes out.
  if (stat.size > bytes) return { name, bytes: stat.size, sha256: '' };
  return copyFile(disk, { name, path, bytes }, root);
}

/**
 * The new root is the owner of what was copied, with a generation above every one that is in it (FEN-707): the lease row, the mark of the state,
 * and the queue's folder. The graph follows at the first start, by the mark that the queue's folder has.
 */
async function giveIdentity(
  order: RestoreOrder,
  manifest: Manifest,
  { layout, storageRootId }: RestoringRoot,
): Promise<void> {
  const { clock, chance, tell, disk } = order;
  tell({ step: 'identity', files: manifest.files.length, bytes: 0 });
  await disk.makeDirectory(dirname(layout.controlDatabase));
  const control = openControlDatabase(layout.controlDatabase, { clock });
  try {
    const { generation: atLeast } = manifest;
    const tenure = takeTenure(control, { storageRootId, holder: 'restore', chance, atLeast });
    const { permit } = tenure;
    const state = await openLmdbState({ directory: layout.state, permit, chance, takesOver: true });
    await state.close();
    const { backupId, rootId } = manifest;
    await order.rebindQueue(layout.queue, storageRootId, { backupId, rootId });
    tenure.release();
  } finally {
    control.close();
  }
}
