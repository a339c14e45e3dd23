import { join } from 'node:path';
import { formatTooNew, messageOf, type Chance } from '#base';
import { atomicReplace, type Disk, type StagingNames } from '#disk';
import { objectCorrupt } from './errors.ts';

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
  const v = versionOf(stored, path);
  if (v > markerVersion)
    throw formatTooNew({ thing: `the object store ${directory}`, found: v, known: markerVersion });
}

function versionOf(stored: Uint8Array, path: string): number {
  let value: { readonly v?: unknown } | null;
  try {
    value = JSON.parse(Buffer.from(stored).toString('latin1')) as typeof value;
  } catch (error) {
    throw objectCorrupt({ sha256: path, reason: messageOf(error) }, error);
  }
  const v = value?.v;
  if (typeof v !== 'number') throw objectCorrupt({ sha256: path, reason: 'it has no version' });
  return v;
}
