import { join } from 'node:path';
import type { Chance, Clock } from '#base';
import type { Config } from '#config';
import type { CopySource, Disk, StagingNames } from '#disk';
import type { FencePermit } from '#fence';
import {
  copyGraph,
  graphCopyFailed,
  type CopySourceGraph,
  type CopyTargetGraph,
  type GraphDigest,
  type GraphRemoval,
  type GraphStore,
} from '#graph';
import {
  openCopySource,
  openCopyTarget,
  openEmbeddedGraph,
  openRowsAtRest,
  type GraphCheck,
  type GraphDamage,
  type GraphSnapshot,
} from '#graph/embedded';
import type * as Neo4jStore from '#graph/neo4j';
import { watchedObjects, type WatchedObjects } from '#keeping';
import { openLocalObjects } from '#objects';
import {
  openQueue,
  type BatchItem,
  type GraphBond,
  type KeyRemoval,
  type LogKeeping,
  type LogLifeCycle,
  type LogNeighbours,
  type LogRepair,
  type QueueBackend,
  type QueueLedger,
  type QueueTotals,
} from '#queue';
import {
  filesystemPlug,
  parseOffset,
  readQueueBond as readBond,
  rebindQueueFolder,
  type FilesystemQueue,
  verifyQueue,
} from '#queue-backends/filesystem';
import type { Key } from '#record';
import type { BoundRoot, LeftVerdict, LeftVerdicts } from '#roots';
import { openGuardedState, type GuardedState, type LmdbState, type StateLoss } from '#state';
import { noteChangedStores } from './boot/changed-stores.ts';
import type { Closers } from './boot/closers.ts';
import { keepMetGraph, metGraphPath, neo4jSettings, readMetGraph } from './neo4j-settings.ts';
import { compactionSettings, graphWalBytes, queueSettings } from './settings.ts';

/** The stores of a root, open and recovered. */
export interface Stores {
  readonly queue: QueueBackend & QueueLedger;
  readonly bond: GraphBond;
  /** What only a queue of log files can do (ING-102). */
  readonly lifeCycle: LogLifeCycle;
  /** What mends the logs of this queue. */
  readonly logs: LogRepair;
  /** A look at records beside another. */
  readonly neighbours: LogNeighbours;
  /** Bytes of journal that session files do not hold yet. */
  journalLagBytes(): number;
  readonly graph: GraphStore;
  /** It may go away by itself, so somebody must look. */
  readonly isGraphAServer: boolean;
  readonly objects: WatchedObjects;
  /** What takes sessions out of queue and graph; undefined with a graph store that cannot. */
  readonly removal: { readonly queue: KeyRemoval; readonly graph: GraphRemoval } | undefined;
  /** What a queue of log files lets go by age or size. */
  readonly keeping: LogKeeping;
  /** Id of the graph that this root belongs to (ING-540). */
  readonly expectedGraphId: string;
  /** What is gone of the state: stores that a start has set aside, notes of missing and older ones. */
  readonly losses: readonly StateLoss[];
  /** A store was found damaged while it was used: nothing vouches for it at the next start. */
  isDamaged(): boolean;
  /** What a read or write of the graph has met. */
  graphDamage(): GraphDamage | undefined;
  /** Takes event ids out of the index, so that their events count as new (SC-018); only while nobody else appends. */
  forgetIds(key: Key, eventIds: readonly string[]): Promise<void>;
  dropSpareSegments(): Promise<void>;
  /** Carries the journal into the session files now, so that `readLog` tells everything that a log holds. */
  checkpoint(): Promise<void>;
  readLog(key: Key): AsyncIterable<BatchItem>;
  /** All of them as they are now; the caller sees to it that no transaction and no commit is on its way (D31). */
  snapshot(signal: AbortSignal): Promise<StoreSnapshot>;
}

/** Queue, state and graph at one instant, to be copied while they go on. */
export interface StoreSnapshot {
  readonly totals: QueueTotals;
  /** From its end on ids are carried into the state store again. */
  copyState(directory: string): Promise<void>;
  copyGraph(path: string): Promise<GraphDigest>;
  queueFiles(): AsyncIterable<CopySource>;
  end(): Promise<void>;
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
  /** What the last stop left. */
  readonly left: LeftVerdicts;
  /** Ends the wait for a store that another process holds. */
  readonly stopping: AbortSignal;
}

/**
 * The embedded profile (ING-002); the only file that names a plug. Each store refuses a permit below the mark that it carries (FENCE_STALE),
 * before it changes anything. What is open goes to `closers`, also when a later store fails.
 */
export async function openStores(needs: StoreNeeds, closers: Closers): Promise<Stores> {
  const { config, root, permit, disk, names, clock, chance } = needs;
  const { layout, marker } = root;
  const rootId = marker.storageRootId;
  const guarded = await openState(needs);
  const { state } = guarded;
  closers.add('state', () => state.close());
  const objects = watchedObjects(
    await openLocalObjects({ directory: layout.objects, disk, chance, names }),
  );
  closers.add('objects', () => objects.close());
  const { graph, pin, removal, graphDamage } = await openGraph(needs);
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
    isArchiving: () => config['queue.archive'],
    compaction: compactionSettings(config),
    lockWarnMs: config['lock.warn_ms'],
    logHandlesMax: needs.logHandlesMax,
    stateDamage: () => guarded.damage(),
    onStateBehind: (gap) => guarded.noteBehind({ v: 1, ...gap }),
  });
  closers.add('queue', () => queue.close());
  await noteChangedStores(needs, layout, needs.left);
  const { bond, lifeCycle } = queue;
  return {
    queue,
    bond,
    lifeCycle,
    logs: queue,
    neighbours: queue,
    journalLagBytes: () => queue.journalLagBytes(),
    graph,
    isGraphAServer: config['graph.store'] === 'neo4j',
    objects,
    removal: removal === undefined ? undefined : { queue: queue.removal, graph: removal },
    keeping: queue.keeping,
    expectedGraphId: bond.graphId ?? graph.graphId,
    losses: await guarded.losses(),
    graphDamage,
    isDamaged: () => (guarded.damage() ?? graphDamage()) !== undefined,
    checkpoint: () => queue.checkpoint(),
    dropSpareSegments: () => queue.dropSpareSegments(),
    snapshot: (signal) => snapshotStores(queue, pin, state, signal),
    forgetIds: (key, eventIds) =>
      state.write(
        permit,
        eventIds.map((eventId) => ({ table: 'dedup', key, eventId, entry: null })),
      ),
    readLog: (key) => queue.readLog(key),
  };
}

/** Loaded by those who have such a server: the driver is an eighth of what a start takes. */
function neo4jStore(): Promise<typeof Neo4jStore> {
  return import('#graph/neo4j');
}

function openState({
  root,
  permit,
  chance,
  disk,
  clock,
  names,
  left,
  stopping,
}: StoreNeeds): Promise<GuardedState> {
  const directory = root.layout.state;
  const order = { directory, permit, chance, disk, clock, names, left: left.state, stopping };
  return openGuardedState(order);
}

interface OpenedGraphStore {
  readonly graph: GraphStore;
  /** The graph as it is now, to be copied while it goes on. */
  pin(): Promise<GraphSnapshot>;
  readonly removal?: GraphRemoval;
  graphDamage(): GraphDamage | undefined;
}

const checks: Readonly<Record<LeftVerdict, GraphCheck>> = {
  same: 'none',
  unknown: 'quick',
  changed: 'full',
};

async function openGraph(needs: StoreNeeds): Promise<OpenedGraphStore> {
  const { config, root, permit, disk, clock, chance } = needs;
  const { layout, marker } = root;
  const rootId = marker.storageRootId;
  const spillBytes = config['graph.spill_bytes'];
  if (config['graph.store'] === 'neo4j') return openServerGraph(needs);
  const { totalBytes } = await disk.space(layout.root);
  const graph = await openEmbeddedGraph({
    walBytesMax: graphWalBytes(totalBytes),
    path: join(layout.graph, 'graph.db'),
    rootId,
    spillBytes,
    clock,
    chance,
    permit,
    check: checks[needs.left.graph],
  });
  return {
    graph,
    pin: () => graph.snapshot(),
    removal: graph,
    graphDamage: () => graph.damage(),
  };
}

/** A server that does not answer is no reason not to start, once its graph has been met: events are taken, and wait in the queue. */
async function openServerGraph(needs: StoreNeeds): Promise<OpenedGraphStore> {
  const { config, root, permit, disk, names, clock, chance } = needs;
  const metPath = metGraphPath(root.layout);
  const { openNeo4jGraph } = await neo4jStore();
  const graph = await openNeo4jGraph({
    ...(await neo4jSettings(config, disk)),
    rootId: root.marker.storageRootId,
    spillBytes: config['graph.spill_bytes'],
    known: await readMetGraph(disk, metPath),
    clock,
    chance,
    permit,
  });
  await keepMetGraph(disk, metPath, names, graph);
  return {
    graph,
    pin: () => pinServerGraph(needs, graph),
    removal: graph,
    graphDamage: () => undefined,
  };
}

/** A server's graph goes into a backup as a file of the embedded store, which a restored root opens as it is (D31). Groups wait until it is copied. */
async function pinServerGraph(
  needs: StoreNeeds,
  graph: Neo4jStore.Neo4jGraphStore,
): Promise<GraphSnapshot> {
  const { config, disk, clock, chance } = needs;
  const letGo = await graph.hold();
  return {
    async copyTo(path) {
      const server = { ...(await neo4jSettings(config, disk)), clock, chance };
      const { openNeo4jCopySource } = await neo4jStore();
      const source = await openNeo4jCopySource(server);
      const target = openCopyTarget(path);
      try {
        return await copyGraph(source, target, () => undefined);
      } finally {
        await source.close();
        await target.close();
      }
    },
    end: () => Promise.resolve(letGo()),
  };
}

export interface CopyEnds {
  readonly source: CopySourceGraph;
  readonly target: CopyTargetGraph;
  /** Gives what was copied the name by which a start finds it; after both ends are closed. */
  seal(): Promise<void>;
}

/** Both stores of a root, to copy its graph from one to the other. */
export async function openCopyEnds(
  needs: Pick<StoreNeeds, 'config' | 'disk' | 'clock' | 'chance'> & {
    readonly layout: BoundRoot['layout'];
  },
  to: 'embedded' | 'neo4j',
): Promise<CopyEnds> {
  const { config, disk, clock, chance, layout } = needs;
  const server = { ...(await neo4jSettings(config, disk)), clock, chance };
  const path = join(layout.graph, 'graph.db');
  const { openNeo4jCopySource, openNeo4jCopyTarget } = await neo4jStore();
  if (to === 'neo4j') {
    const target = await openNeo4jCopyTarget(server);
    return { source: openCopySource(path), target, seal: () => Promise.resolve() };
  }
  if ((await disk.stat(path)) !== undefined)
    throw graphCopyFailed({ reason: `${path} is there already: move it away` });
  const source = await openNeo4jCopySource(server);
  const half = `${path}.copying`;
  return {
    source,
    target: openCopyTarget(half),
    async seal() {
      await disk.rename(half, path);
      await disk.syncDirectory(layout.graph);
    },
  };
}

/** Journal and graph are pinned one after the other; between them nothing changes that is in both. */
async function snapshotStores(
  queue: FilesystemQueue,
  pin: OpenedGraphStore['pin'],
  state: LmdbState,
  signal: AbortSignal,
): Promise<StoreSnapshot> {
  const taken = await queue.snapshot(signal);
  try {
    const pinned = await pin();
    return {
      totals: taken.totals,
      async copyState(directory) {
        await state.copyTo(directory);
        taken.releaseState();
      },
      copyGraph: (path) => pinned.copyTo(path),
      queueFiles: () => taken.files(),
      async end() {
        taken.end();
        await pinned.end();
      },
    };
  } catch (error) {
    taken.end();
    throw error;
  }
}

/** Gives a restored queue to its new root (ING-542). */
export const rebindQueue: typeof rebindQueueFolder = rebindQueueFolder;

/** The offline look at a root's queue (ING-921). */
export const verifyQueueFolder: typeof verifyQueue = verifyQueue;
export const readQueueBond: typeof readBond = readBond;
/** The one reader of offset records of every version (ING-213). */
export const parseOffsetRecord: typeof parseOffset = parseOffset;
export type {
  BondedLog,
  GraphWord,
  VerifiedKey,
  VerifyFinding,
  VerifySummary,
} from '#queue-backends/filesystem';
/** What the graph of a root at rest says of its sessions. */
export const openGraphRows: typeof openRowsAtRest = openRowsAtRest;
