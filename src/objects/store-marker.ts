import { join } from 'node:path';
import { formatTooNew, type Chance } from '#base';
import { atomicReplace, type Disk, type StagingNames } from '#disk';

const markerVersion = 1;

/** Names a namespace's folder, so that a copied or swapped one is noticed (ROOT-04); made with the first opening, never rewritten here. */
export async function ensureMarker(
  disk: Disk,
  directory: string,
  names: StagingNames,
  chance: Chance,
): Promise<void> {
  const path = join(directory, '.store.json');
  const stored = await disk.readFile(path);
  if (stored === undefined) {
    const marker = { v: markerVersion, uuid: chance.uuid(), operations: [] };
    await atomicReplace(disk, path, Buffer.from(`${JSON.stringify(marker)}\n`), names);
    return;
  }
  const { v } = JSON.parse(Buffer.from(stored).toString('latin1')) as { v?: unknown };
  if (typeof v === 'number' && v > markerVersion)
    throw formatTooNew({ thing: `the object store ${directory}`, found: v, known: markerVersion });
}
