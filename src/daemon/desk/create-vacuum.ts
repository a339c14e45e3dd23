import { dirname } from 'node:path';
import { backupRunning } from '#backup';
import type { ControlDatabase } from '#control';
import { vacuum, type Compressible, type StorageComponent } from '#keeping';
import type { OpsContext } from '#ops';
import { reserveBytesOf } from '#queue';
import type { BoundRoot } from '#roots';
import type { Stores } from '../assemble.ts';
import type { Backups } from './create-backups.ts';
import type { Ground } from '../daemon.ts';

/** Which stores of the root can give space back, and how. */
export function createVacuum(
  { disk, options }: Ground,
  { root, control, stores }: { root: BoundRoot; control: ControlDatabase; stores: Stores },
  backups: Pick<Backups, 'isRunning'>,
): OpsContext['vacuum'] {
  const { layout } = root;
  // A server looks after its own files.
  const graph = stores.isGraphAServer ? undefined : stores.removal?.graph;
  const components: readonly Compressible[] = [
    {
      name: 'queue',
      folder: layout.queue,
      isCopied: false,
      giveBack: () => stores.dropSpareSegments(),
    },
    {
      name: 'control',
      folder: dirname(layout.controlDatabase),
      isCopied: true,
      giveBack: async () => control.vacuum(),
    },
    ...(graph === undefined
      ? []
      : [
          {
            name: 'graph',
            folder: layout.graph,
            isCopied: true,
            giveBack: () => graph.vacuum(),
          } as const,
        ]),
  ];
  return async () => {
    // A backup reads the files of one instant.
    if (backups.isRunning) throw backupRunning({});
    const { totalBytes } = await disk.space(layout.root);
    const configured = options.loaded.config['queue.reserve_bytes'];
    const reserveBytes = reserveBytesOf(configured, totalBytes);
    return vacuum(components, { disk, root: layout.root, reserveBytes });
  };
}

export function storageFolders({ layout }: BoundRoot): Readonly<Record<StorageComponent, string>> {
  return {
    queue: layout.queue,
    graph: layout.graph,
    state: dirname(layout.state),
    control: dirname(layout.controlDatabase),
    objects: layout.objects,
  };
}
