import { createMemoryStore, type MemoryStore } from '#queue-backends/memory';
import type { MillraceError } from '#base';
import { createDrain, type Drain, type DrainOptions } from '#drain';
import type { FencePermit } from '#fence';
import type { GraphStore, GroupPart } from '#graph';
import type { ObjectStore } from '#objects';
import type { AppendInput, LogLifeCycle } from '#queue';
import type { Key } from '#record';
import { seededChance } from '../support/chance.ts';
import { fakeClock, type FakeClock } from '../support/clock.ts';
import {
  emptyMemoryGraph,
  openMemoryGraph,
  type MemoryGraph,
  type MemoryGraphContent,
} from '../support/memory-graph.ts';
import { openTestQueue, testPermit, testRecord, type Queue } from '../support/queue-fixtures.ts';

export const rootId = 'root';

/** What outlives a drain: the disk of the queue, the graph, the objects. */
export interface World {
  readonly store: MemoryStore;
  readonly content: MemoryGraphContent;
  readonly objects: Map<string, Uint8Array>;
}

export function newWorld(): World {
  return { store: createMemoryStore(), content: emptyMemoryGraph(), objects: new Map() };
}

/** Hooks that stand before and behind the steps that a fault or a crash may hit; what they throw is what the caller meets. */
export interface Faults {
  beforeApply?(group: readonly GroupPart[]): void | Promise<void>;
  afterApply?(group: readonly GroupPart[]): void;
  beforeCommit?(key: Key): void;
  afterCommit?(key: Key): void;
  beforeRead?(key: Key): void | Promise<void>;
  afterRead?(key: Key, count: number): void | Promise<void>;
  beforeArm?(keys: readonly Key[]): void;
  beforePut?(sha256: string): void;
  probe?(): void;
}

export interface DrainFixture {
  readonly world: World;
  readonly queue: Queue;
  readonly graph: MemoryGraph;
  readonly drain: Drain;
  readonly clock: FakeClock;
  /** Errors that asked the daemon to stop. */
  readonly stops: MillraceError[];
  /** Appends and wakes, as ingest does. */
  post(...records: readonly AppendInput[]): Promise<void>;
  /** Resolves when all is drained. */
  drained(): Promise<void>;
  /** As kill -9: whatever it still does is refused. */
  crash(): void;
  close(): Promise<void>;
}

export interface FixtureOptions extends DrainOptions {
  readonly world?: World;
  readonly faults?: Faults;
  readonly generation?: number;
  readonly expectedGraphId?: string;
  readonly rootId?: string;
  readonly seed?: number;
  readonly lifeCycle?: LogLifeCycle;
  /** Left to the test. */
  readonly isStarted?: boolean;
}

const neverAborted = new AbortController().signal;

export function openDrain(options: FixtureOptions = {}): DrainFixture {
  const { world = newWorld(), faults = {}, generation = 1 } = options;
  const clock = fakeClock();
  let isLive = true;
  const permit = testPermit(generation, () => isLive);
  const queue = faultyQueue(openTestQueue({ store: world.store, permit, clock }), faults);
  const graph = openMemoryGraph({ rootId, content: world.content });
  const stops: MillraceError[] = [];
  const drain = createDrain(
    {
      queue,
      ledger: queue,
      ...(options.lifeCycle === undefined ? {} : { lifeCycle: options.lifeCycle }),
      graph: faultyGraph(graph, faults),
      objects: memoryObjects(world.objects, faults),
      permit,
      rootId: options.rootId ?? rootId,
      expectedGraphId: options.expectedGraphId,
      clock,
      chance: seededChance(options.seed ?? 1),
      onStop: (error) => stops.push(error),
    },
    options,
  );
  if (options.isStarted !== false) drain.start();
  return {
    world,
    queue,
    graph,
    drain,
    clock,
    stops,
    async post(...records) {
      await queue.append(records);
      for (const key of new Set(records.map((record) => record.key))) drain.wake(key);
    },
    drained: () => drain.idle(neverAborted),
    crash() {
      isLive = false;
    },
    async close() {
      await drain.stop(1000);
      await queue.close();
      await graph.close();
    },
  };
}

function faultyQueue(inner: Queue, faults: Faults): Queue {
  return {
    ...inner,
    protocolVersion: inner.protocolVersion,
    capabilities: inner.capabilities,
    activeKeys: () => inner.activeKeys(),
    close: () => inner.close(),
    async readBatch(key, max) {
      await faults.beforeRead?.(key);
      const batch = await inner.readBatch(key, max);
      await faults.afterRead?.(key, batch.items.length);
      return batch;
    },
    async commit(key, after, cursor, applied) {
      faults.beforeCommit?.(key);
      await inner.commit(key, after, cursor, applied);
      faults.afterCommit?.(key);
    },
    async deadLetter(key, letters, after, cursor) {
      faults.beforeCommit?.(key);
      await inner.deadLetter(key, letters, after, cursor);
      faults.afterCommit?.(key);
    },
  };
}

function faultyGraph(inner: GraphStore, faults: Faults): GraphStore {
  return {
    graphId: inner.graphId,
    spillBytes: inner.spillBytes,
    async armKeys(permit: FencePermit, keys: readonly Key[]) {
      faults.beforeArm?.(keys);
      return inner.armKeys(permit, keys);
    },
    async apply(permit, group) {
      // Folded here, so nothing comes packed.
      const parts = group as readonly GroupPart[];
      await faults.beforeApply?.(parts);
      await inner.apply(permit, group);
      faults.afterApply?.(parts);
    },
    adopt: (permit, rows) => inner.adopt(permit, rows),
    rows: (which) => inner.rows(which),
    digest: () => inner.digest(),
    stats: () => inner.stats(),
    export: () => inner.export(),
    query: (name, parameters) => inner.query(name, parameters),
    cypher: (query, signal) => inner.cypher(query, signal),
    async probe() {
      faults.probe?.();
      await inner.probe();
    },
    close: () => inner.close(),
  };
}

function memoryObjects(kept: Map<string, Uint8Array>, faults: Faults): ObjectStore {
  return {
    async put(sha256, bytes) {
      faults.beforePut?.(sha256);
      kept.set(sha256, bytes);
    },
    read: async (sha256) => kept.get(sha256),
    has: async (sha256) => kept.has(sha256),
    close: async () => undefined,
  };
}

/** A record that folds: number `at` of its session, a second apart. */
export function note(
  session: string,
  at: number,
  data: Readonly<Record<string, unknown>> = {},
  event = 'custom:note',
): AppendInput {
  const timestamp = new Date(Date.UTC(2026, 5, 1) + at * 1000).toISOString();
  return testRecord({ session, event, data: { session_id: session, timestamp, ...data } });
}

export function notes(session: string, count: number, from = 0): readonly AppendInput[] {
  return Array.from({ length: count }, (_, at) => note(session, from + at));
}

/** Valid as an event, and no graph can hold it (D28): the fold refuses it. */
export function contradiction(session: string, at: number): AppendInput {
  return note(session, at, { parent: session }, 'session:fork');
}

/** Whether a group holds the marked record: what a store that refuses it would look at. */
export function holdsMark(group: readonly GroupPart[], mark: string): boolean {
  return group.some(({ steps }) =>
    steps.some(({ mutations }) => JSON.stringify(mutations).includes(mark)),
  );
}
