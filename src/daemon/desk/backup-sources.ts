import { backupFailed, type BackupSources, type FrozenRoot } from '#backup';
import type { Clock } from '#base';
import { effectiveConfig, type LoadedConfig } from '#config';
import type { ControlDatabase } from '#control';
import type { Drain } from '#drain';
import type { FencePermit } from '#fence';
import type { BoundRoot } from '#roots';
import type { Stores } from '../assemble.ts';

export interface SourceNeeds {
  readonly root: BoundRoot;
  readonly permit: FencePermit;
  readonly control: ControlDatabase;
  readonly stores: Stores;
  readonly drain: Pick<Drain, 'pause'>;
  readonly loaded: LoadedConfig;
  readonly clock: Clock;
}

/** A batch, its transaction and its commit take milliseconds; a graph that does not answer is waited for no longer than this. */
const borderMsMax = 30_000;

/** What a backup of this root is made of. */
export function backupSources(needs: SourceNeeds): BackupSources {
  const { root, loaded } = needs;
  const { layout } = root;
  return {
    objects: layout.objects,
    tokens: loaded.config['auth.tokens_file'] ?? layout.tokens,
    settings: Object.fromEntries(
      effectiveConfig(loaded)
        .filter(({ origin }) => origin !== 'default')
        .map(({ key, value }) => [key, value]),
    ),
    freeze: (signal) => freeze(needs, signal),
  };
}

/** Queue and graph at one instant: the drain stands at a border, so no group is in flight; appends go on (D31). */
async function freeze(needs: SourceNeeds, signal: AbortSignal): Promise<FrozenRoot> {
  const { root, permit, control, stores, drain, clock } = needs;
  const { marker, layout } = root;
  // What is carried into the files now need not be while the drain waits.
  await stores.checkpoint();
  const late = new AbortController();
  const timer = clock.after(borderMsMax, () => {
    const reason = `the drain came to no border within ${borderMsMax / 1000} s`;
    late.abort(backupFailed({ path: layout.root, reason }));
  });
  const either = AbortSignal.any([signal, late.signal]);
  try {
    const letGo = await drain.pause(either);
    try {
      const snapshot = await stores.snapshot(either);
      const { accepted, applied, pending, dead, discarded, duplicates } = snapshot.totals;
      return {
        rootId: marker.storageRootId,
        keyEncoding: marker.keyEncoding,
        isLab: marker.isLab,
        graphId: stores.graph.graphId,
        generation: permit.generation,
        books: { accepted, applied, pending, dead, discarded, duplicates },
        copyState: (directory) => snapshot.copyState(directory),
        copyControl: (path) => control.copyTo(path),
        copyGraph: (path) => snapshot.copyGraph(path),
        queueFiles: () => snapshot.queueFiles(),
        end: () => snapshot.end(),
      };
    } finally {
      letGo();
    }
  } finally {
    timer.cancel();
  }
}
