import { join } from 'node:path';
import { atomicReplace, listTree, makeDurableDirectory, removeTree, type FileLock } from '#disk';
import { newMarker, openFolder, type BindOptions } from './bind-root.ts';
import { rootForeign } from './errors.ts';
import { foreignEntry, type RootLayout } from './layout.ts';
import { formatMarker, type RootMarker } from './marker.ts';

/** An empty folder that is becoming a root; nobody else can bind it meanwhile, nor after an interruption. */
export interface RestoringRoot {
  readonly layout: RootLayout;
  /** Id of the root that it becomes. */
  readonly storageRootId: string;
  readonly lock: FileLock;
  /** Writes the marker, and takes the journal away as the last step: from then on it is a root. */
  finish(): Promise<RootMarker>;
  /** Takes away what was put there; what a failing disk keeps is taken away by the next restore. */
  undo(): Promise<void>;
  release(): void;
}

/**
 * Takes an empty folder for a restore: lock first, then a journal in `.maintenance`, which keeps every bind out until `finish` (FEN-707). A folder
 * in which an earlier restore was interrupted counts as empty: what it left is taken away. Errors: as `bindRoot`.
 */
export async function beginRestore(path: string, options: BindOptions): Promise<RestoringRoot> {
  const { disk, names, clock } = options;
  const { layout, lock } = await openFolder({ path, source: 'cli' }, options, refuseUnlessEmpty);
  try {
    await clear(layout, options);
    const marker = newMarker(options);
    const journal = { v: 1, storage_root_id: marker.storageRootId, began_at: marker.createdAt };
    const bytes = Buffer.from(`${JSON.stringify(journal)}\n`, 'utf8');
    await atomicReplace(disk, layout.restoreJournal, bytes, names);
    return {
      layout,
      storageRootId: marker.storageRootId,
      lock,
      async finish() {
        const made = { ...marker, createdAt: new Date(clock.now()).toISOString() };
        await atomicReplace(disk, layout.marker, formatMarker(made), names);
        await endJournal(layout, options);
        return made;
      },
      async undo() {
        await clear(layout, options);
        await endJournal(layout, options);
      },
      release: () => lock.release(),
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function refuseUnlessEmpty(
  layout: RootLayout,
  { disk }: Pick<BindOptions, 'disk'>,
): Promise<void> {
  if ((await disk.stat(layout.restoreJournal)) !== undefined) return;
  const names = (await disk.readDirectory(layout.root)).map(({ name }) => name);
  const found = foreignEntry(names);
  if (found !== undefined) throw rootForeign({ root: layout.root, found });
}

async function endJournal(layout: RootLayout, { disk }: BindOptions): Promise<void> {
  await disk.unlink(layout.restoreJournal);
  await disk.syncDirectory(layout.maintenance);
}

/** Everything but the folder of the lock. Only under a journal of ours, or in an empty folder. */
async function clear(layout: RootLayout, { disk }: BindOptions): Promise<void> {
  for (const { name, kind } of await disk.readDirectory(layout.root)) {
    const path = join(layout.root, name);
    if (path === layout.maintenance) continue;
    if (kind !== 'directory') {
      await disk.unlink(path);
      continue;
    }
    for (const file of (await listTree(disk, path)).files)
      await disk.unlink(join(path, ...file.split('/')));
    await removeTree(path);
  }
  await makeDurableDirectory(disk, layout.maintenance, layout.root);
}
