import { join } from 'node:path';
import type { Chance, Clock } from '#base';
import type { Config } from '#config';
import type { Disk, StagingNames } from '#disk';
import type { FencePermit } from '#fence';
import type { GraphStore } from '#graph';
import { openEmbeddedGraph } from '#graph/embedded';
import { openLocalObjects, type ObjectStore } from '#objects';
import { openQueue, type GraphBond, type QueueBackend, type QueueLedger } from '#queue';
import { filesystemPlug, verifyQueue } from '#queue-backends/filesystem';
import type { BoundRoot } from '#roots';
import { openGuardedState } from '#state';
import type { Closers } from './closers.ts';
import { graphWalBytes, queueSettings } from './settings.ts';

/** The stores of a root, open and recovered. */
export interface Stores {
  readonly queue: QueueBackend & QueueLedger;
  readonly bond: GraphBond;
  readonly graph: GraphStore;
  readonly objects: ObjectStore;
  /** Id of the graph that this root belongs to (ING-540). */
  readonly expectedGraphId: string;
  /** Damaged state stores that a start has set aside. */
  readonly setAside: readonly string[];
}

export interface StoreNeeds {
  readonly config: Config;
  readonly root: BoundRoot;
  readonly permit: FencePermit;
  readonly disk: Disk;
  readonly names: StagingNames;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logHandlesMax: number;
}

/**
 * The embedded profile (ING-002); the only file that names a plug. Each store refuses a permit below the mark that it carries (FENCE_STALE),
 * before it changes anything. What is open goes to `closers`, also when a later store fails.
 */
export async function openStores(needs: StoreNeeds, closers: Closers): Promise<Stores> {
  const { config, root, permit, disk, names, clock, chance } = needs;
  const { layout, marker } = root;
  const rootId = marker.storageRootId;
  const guarded = await openGuardedState({ directory: layout.state, permit, chance, disk, clock });
  const { state } = guarded;
  closers.add('state', () => state.close());
  const objects = await openLocalObjects({ directory: layout.objects, disk, chance, names });
  closers.add('objects', () => objects.close());
  const { totalBytes } = await disk.space(layout.root);
  const graph = await openEmbeddedGraph({
    walBytesMax: graphWalBytes(totalBytes),
    path: join(layout.graph, 'graph.db'),
    rootId,
    spillBytes: config['graph.spill_bytes'],
    clock,
    chance,
    permit,
  });
  closers.add('graph', () => graph.close());
  const queue = await openQueue(filesystemPlug, {
    directory: layout.queue,
    disk,
    names,
    clock,
    chance,
    permit,
    state,
    rootId,
    graphId: graph.graphId,
    limits: queueSettings(config),
    fsync: config['queue.fsync'],
    lockWarnMs: config['lock.warn_ms'],
    logHandlesMax: needs.logHandlesMax,
  });
  closers.add('queue', () => queue.close());
  const { bond } = queue;
  const expectedGraphId = bond.graphId ?? graph.graphId;
  return { queue, bond, graph, objects, expectedGraphId, setAside: guarded.setAside };
}

/** The offline look at a root's queue (ING-921). */
export const verifyQueueFolder: typeof verifyQueue = verifyQueue;
export type { VerifiedKey, VerifyFinding, VerifySummary } from '#queue-backends/filesystem';
