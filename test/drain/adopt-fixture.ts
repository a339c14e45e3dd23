import {
  adoptGraph,
  createDrain,
  type AdoptDependencies,
  type AdoptReport,
  type Drain,
} from '#drain';
import type { Disk } from '#disk';
import type { ObjectStore } from '#objects';
import type { AppendInput, AppendOutcome } from '#queue';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import type { Key } from '#record';
import { memoryState, type MemoryState } from '#state';
import { seededChance } from '../support/chance.ts';
import { fakeClock, type FakeClock } from '../support/clock.ts';
import { openQueue, rootDisk } from '../support/filesystem-queue.ts';
import {
  emptyMemoryGraph,
  openMemoryGraph,
  type MemoryGraph,
  type MemoryGraphContent,
} from '../support/memory-graph.ts';
import { testPermit } from '../support/queue-fixtures.ts';

export const rootId = 'SR-test';

/** A root on a memory disk, and the graph beside it. */
export interface Place {
  readonly disk: Disk;
  readonly state: MemoryState;
  graph: MemoryGraphContent;
  generation: number;
}

export function newPlace(): Place {
  return {
    disk: rootDisk(),
    state: memoryState(),
    graph: emptyMemoryGraph('first graph'),
    generation: 0,
  };
}

export interface Life {
  readonly queue: FilesystemQueue;
  readonly graph: MemoryGraph;
  readonly drain: Drain;
  readonly clock: FakeClock;
  readonly dependencies: AdoptDependencies;
  post(...records: readonly AppendInput[]): Promise<readonly AppendOutcome[]>;
  drained(): Promise<void>;
  adopt(order?: { readonly key?: Key; readonly isDryRun?: boolean }): Promise<AdoptReport>;
  /** As kill -9: what the state store has not flushed is gone. */
  crash(): void;
  close(): Promise<void>;
}

export interface LifeOptions {
  /** Puts something between the adopt and what it works on. */
  readonly wrap?: (dependencies: AdoptDependencies) => AdoptDependencies;
  readonly isStarted?: boolean;
}

const never = new AbortController().signal;

/** One life of a daemon's core on this place: real filesystem queue, real drain, graph in memory. */
export async function openLife(place: Place, options: LifeOptions = {}): Promise<Life> {
  const { wrap = (same) => same, isStarted = true } = options;
  place.generation += 1;
  let isLive = true;
  const permit = testPermit(place.generation, () => isLive);
  const clock = fakeClock();
  const graph = openMemoryGraph({ rootId, content: place.graph });
  const { disk, state, generation } = place;
  const queue = await openQueue({ disk, state, generation, permit, clock, graphId: graph.graphId });
  const drain = createDrain({
    queue,
    ledger: queue,
    graph,
    objects: noObjects,
    permit,
    rootId,
    expectedGraphId: queue.bond.graphId ?? graph.graphId,
    clock,
    chance: seededChance(1),
    onStop: () => undefined,
  });
  if (isStarted) drain.start();
  const { bond } = queue;
  const plain = { bond, ledger: queue, graph, permit, rootId, drain, pageKeys: 1 };
  const dependencies = wrap(plain);
  return {
    queue,
    graph,
    drain,
    clock,
    dependencies,
    async post(...records) {
      const outcomes = await queue.append(records);
      for (const key of new Set(records.map((record) => record.key))) drain.wake(key);
      return outcomes;
    },
    drained: () => drain.idle(never),
    adopt: ({ key, isDryRun = false } = {}) =>
      adoptGraph(dependencies, { key, isDryRun, signal: never }),
    crash() {
      isLive = false;
      state.restore(state.flushed());
    },
    async close() {
      await drain.stop(1000);
      await queue.close();
    },
  };
}

const noObjects: ObjectStore = {
  put: async () => undefined,
  read: async () => undefined,
  has: async () => false,
  close: async () => undefined,
};

/** Counts the steps of an adopt that change something, and dies at one of them: before it, or right after it. */
export function dyingAt(step: number): LifeOptions['wrap'] {
  let steps = 0;
  const die = async <T>(act: () => Promise<T>): Promise<T> => {
    steps += 1;
    if (steps === step) throw new Error('killed');
    const result = await act();
    steps += 1;
    if (steps === step) throw new Error('killed');
    return result;
  };
  return (dependencies) => {
    const { bond, graph } = dependencies;
    return {
      ...dependencies,
      bond: {
        get graphId() {
          return bond.graphId;
        },
        get restoredFrom() {
          return bond.restoredFrom;
        },
        bondedKeys: (page) => bond.bondedKeys(page),
        checkpointedKeys: (page) => bond.checkpointedKeys(page),
        bondedKey: (key) => bond.bondedKey(key),
        forgetApplied: (keys) => die(() => bond.forgetApplied(keys)),
        bindGraph: (graphId) => die(() => bond.bindGraph(graphId)),
      },
      graph: {
        graphId: graph.graphId,
        spillBytes: graph.spillBytes,
        armKeys: (permit, keys) => graph.armKeys(permit, keys),
        apply: (permit, group) => graph.apply(permit, group),
        rows: (which) => graph.rows(which),
        adopt: (permit, rows) => die(() => graph.adopt(permit, rows)),
        digest: () => graph.digest(),
        stats: () => graph.stats(),
        export: () => graph.export(),
        query: (name, parameters) => graph.query(name, parameters),
        cypher: (query, signal) => graph.cypher(query, signal),
        probe: () => graph.probe(),
        close: () => graph.close(),
      },
    };
  };
}
