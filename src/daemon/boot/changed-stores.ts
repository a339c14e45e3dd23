import { basename, dirname, join } from 'node:path';
import type { Clock } from '#base';
import { atomicReplace, type Disk, type StagingNames } from '#disk';
import type { Degradation } from '#ops';
import { bareFiles, type BareStore, type LeftVerdicts, type RootLayout } from '#roots';
import { evidenceKept } from '#signals';

interface Means {
  readonly disk: Disk;
  readonly names: StagingNames;
  readonly clock: Clock;
}

/** The state store has a checksum for each value, and is looked at by them. */
const told: readonly BareStore[] = ['control', 'graph'];
const suffix = '.changed.';

/**
 * A database that is sound and yet not as the last stop left it: an older copy, another program, or a disk that has changed what only a reader of the value
 * would notice. A note beside it tells of it until somebody takes it away (P7); written once the stores are open, since a damaged one refuses the start.
 */
export async function noteChangedStores(
  { disk, names, clock }: Means,
  layout: RootLayout,
  verdicts: LeftVerdicts,
): Promise<void> {
  const at = new Date(clock.now()).toISOString();
  for (const store of told) {
    if (verdicts[store] !== 'changed') continue;
    const file = bareFiles(layout)[store];
    const path = `${file}${suffix}${at.replaceAll(/[:.]/g, '-')}.json`;
    const bytes = Buffer.from(`${JSON.stringify({ v: 1, store, found_at: at })}\n`);
    await atomicReplace(disk, path, bytes, names);
    const reason = `${file} was changed while no daemon had it`;
    evidenceKept.publish(() => ({ path, reason }));
  }
}

/** Of this start and of earlier ones. */
export async function degradedByChanges(
  { disk, clock }: Pick<Means, 'disk' | 'clock'>,
  layout: RootLayout,
): Promise<readonly Degradation[]> {
  const since = new Date(clock.now()).toISOString();
  const found: Degradation[] = [];
  for (const store of told) {
    const file = bareFiles(layout)[store];
    const folder = dirname(file);
    for (const { name } of await disk.readDirectory(folder))
      if (name.startsWith(`${basename(file)}${suffix}`) && name.endsWith('.json'))
        found.push({
          code: 'STORE_CHANGED',
          message: messageOf(store, file, join(folder, name)),
          since,
        });
  }
  return found;
}

const cures: Readonly<Record<BareStore, string>> = {
  control:
    'restore the root from a backup, or take what it says of leases, audit and jobs as it is',
  graph: 'restore the root from a backup, or build the graph anew from the logs (docs/recovery.md)',
  state: 'restore the root from a backup',
};

function messageOf(store: BareStore, file: string, note: string): string {
  return `${file} was changed while no daemon had it (an older copy, another program, or a failing disk): its pages are sound, but nobody can vouch for the values in it; if you put it there, remove ${note}; else ${cures[store]}, then remove it`;
}
