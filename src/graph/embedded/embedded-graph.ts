import { besideModule, ThreadPort, type Chance, type Clock } from '#base';
import { fenceLost, type FencePermit } from '#fence';
import type { Key } from '#record';
import { graphDamaged, graphMismatch, graphUnavailable, queryTimeout } from '../errors.ts';
import type { FenceMark } from '../fence-mark.ts';
import { bindParameters } from '../queries/bind-parameters.ts';
import type { AnyPart } from '../packed-part.ts';
import { limitParameter } from '../queries/named-query.ts';
import { namedQuery } from '../queries/named-queries.ts';
import type {
  AppliedRow,
  CypherQuery,
  GraphDigest,
  GraphStats,
  GraphStore,
  QueryResult,
  WhichRows,
} from '../store.ts';
import type { GraphRemoval, GraphRemovalCounts, QuietSession, RemovedSession } from '../removal.ts';
import { encodeGroup } from './encode-group.ts';
import { watchQuery } from './watch-query.ts';
import {
  cancelledAt,
  decodeFailure,
  type Failure,
  type GraphCheck,
  type Opened,
  type ReaderRequest,
  type RowEntry,
  type WriterRequest,
  type WriterStart,
} from './wire.ts';

export interface EmbeddedGraphOptions {
  /** The SQLite file; its folder MUST exist. */
  readonly path: string;
  /** Root whose queue feeds this graph: written into the keys' rows (ING-540). */
  readonly rootId: string;
  /**
   * Arms the graph while it is opened: FENCE_STALE when it carries a higher generation (FEN-113, FEN-403). A graph of another root is left alone;
   * arming its keys will say so.
   */
  readonly permit?: FencePermit;
  /** Spill limit of a graph that is made now; one that exists keeps its own (D30). */
  readonly spillBytes: number;
  readonly clock: Clock;
  readonly chance: Chance;
  /** Time limit of one query. */
  readonly queryTimeLimitMs?: number;
  /** Wait for another process's write lock before GRAPH_CONFLICT. */
  readonly lockWaitMs?: number;
  /** Length at which the write-ahead log is written back; 16 MiB where it is not given, less on a small file system. */
  readonly walBytesMax?: number;
  /** How much of the file is looked at before anything is built on it; `quick` where it is not given. */
  readonly check?: GraphCheck;
}

const queryTimeLimitMsDefault = 5000;
const lockWaitMsDefault = 5000;
const walBytesMaxDefault = 16 * 2 ** 20;

/** Opens the embedded graph: one writer thread, and reader threads once something is read. Errors: as GraphStore, and FORMAT_TOO_NEW (`fatal`). */
export async function openEmbeddedGraph(
  options: EmbeddedGraphOptions,
): Promise<EmbeddedGraphStore> {
  const known: { graphId?: string } = {};
  const { path, clock, chance, spillBytes, lockWaitMs = lockWaitMsDefault } = options;
  const newGraphId = chance.uuid();
  const watch = new DamageWatch(clock);
  const failures = { unavailable: watch.unavailable, decodeFailure: watch.decodeFailure };
  const writer = new ThreadPort<WriterRequest>({
    source: besideModule(new URL('./writer-thread.ts', import.meta.url), import.meta.url),
    startData: (): WriterStart => ({
      path,
      newGraphId,
      newSpillBytes: spillBytes,
      lockWaitMs,
      walBytesMax: options.walBytesMax ?? walBytesMaxDefault,
      // A thread that is started again has written since.
      check: known.graphId === undefined ? (options.check ?? 'quick') : 'quick',
      ...known,
    }),
    clock,
    chance,
    ...failures,
  });
  const opened = (await writer.open()) as Opened;
  known.graphId = opened.graphId;
  const reader = (): ThreadPort<ReaderRequest> =>
    new ThreadPort<ReaderRequest>({
      source: besideModule(new URL('./reader-thread.ts', import.meta.url), import.meta.url),
      startData: () => ({ path, ...known }),
      clock,
      chance,
      ...failures,
    });
  const threads = { writer, queries: reader(), scans: reader() };
  const graph = new EmbeddedGraph(options, opened, threads, watch);
  if (options.permit !== undefined) await armOrClose(graph, options.permit);
  return graph;
}

/** What the threads have met; one watch for all of them. */
class DamageWatch {
  damage: GraphDamage | undefined;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly unavailable = (reason: string): Error => graphUnavailable({ reason });

  readonly decodeFailure = (failure: unknown): Error => {
    const error = decodeFailure(failure as Failure);
    if (graphDamaged.is(error))
      this.damage ??= {
        code: error.code,
        message: error.message,
        since: new Date(this.#clock.now()).toISOString(),
      };
    return error;
  };
}

async function armOrClose(graph: GraphStore, permit: FencePermit): Promise<void> {
  try {
    await graph.armKeys(permit, []);
  } catch (error) {
    if (graphMismatch.is(error)) return;
    await graph.close();
    throw error;
  }
}

interface Threads {
  readonly writer: ThreadPort<WriterRequest>;
  /** Short reads. */
  readonly queries: ThreadPort<ReaderRequest>;
  /** Reads of the whole graph, which no query should wait for. */
  readonly scans: ThreadPort<ReaderRequest>;
}

/** The graph as it was at one instant, while groups go on being applied (D31). */
export interface GraphSnapshot {
  /** Writes it as one new file; resolves to its canonical digest, read from that file. */
  copyTo(path: string): Promise<GraphDigest>;
  end(): Promise<void>;
}

/** What only a graph in a file of its own can do. */
export interface EmbeddedGraphStore extends GraphStore, GraphRemoval {
  snapshot(): Promise<GraphSnapshot>;
  /** Damage that was met since it was opened, the first of it. */
  damage(): GraphDamage | undefined;
}

/** `since` is RFC 3339. */
export interface GraphDamage {
  readonly code: string;
  readonly message: string;
  readonly since: string;
}

class EmbeddedGraph implements EmbeddedGraphStore {
  readonly graphId: string;
  readonly spillBytes: number;
  readonly #options: EmbeddedGraphOptions;
  readonly #threads: Threads;

  readonly #watch: DamageWatch;

  constructor(options: EmbeddedGraphOptions, opened: Opened, threads: Threads, watch: DamageWatch) {
    this.#watch = watch;
    this.graphId = opened.graphId;
    this.spillBytes = opened.spillBytes;
    this.#options = options;
    this.#threads = threads;
  }

  async armKeys(
    permit: FencePermit,
    keys: readonly Key[],
  ): Promise<ReadonlyMap<Key, AppliedRow | null>> {
    const fence = liveMark(permit);
    const rows = await this.#threads.writer.call({ kind: 'arm', fence, keys });
    return new Map(rows as readonly (readonly [Key, AppliedRow | null])[]);
  }

  async apply(permit: FencePermit, group: readonly AnyPart[]): Promise<void> {
    const fence = liveMark(permit);
    const { rootId } = this.#options;
    const bytes = encodeGroup(group);
    await this.#threads.writer.call({ kind: 'apply', fence, rootId, group: bytes }, [bytes.buffer]);
  }

  async adopt(permit: FencePermit, rows: ReadonlyMap<Key, AppliedRow | null>): Promise<void> {
    const entries: readonly RowEntry[] = [...rows];
    await this.#threads.writer.call({ kind: 'adopt', fence: liveMark(permit), rows: entries });
  }

  async rows(which: WhichRows): Promise<ReadonlyMap<Key, AppliedRow>> {
    const rows = await this.#threads.writer.call({ kind: 'rows', which });
    return new Map(rows as readonly (readonly [Key, AppliedRow])[]);
  }

  async survey(of: {
    readonly workspace: string;
    readonly session: string;
  }): ReturnType<GraphRemoval['survey']> {
    const { workspace, session } = of;
    const found = await this.#threads.writer.call({ kind: 'survey', workspace, session });
    return found as Awaited<ReturnType<GraphRemoval['survey']>>;
  }

  async descendants(of: {
    readonly workspace: string;
    readonly session: string;
  }): Promise<readonly string[]> {
    const { workspace, session } = of;
    const found = await this.#threads.writer.call({ kind: 'descendants', workspace, session });
    return found as readonly string[];
  }

  async quiet(which: Parameters<GraphRemoval['quiet']>[0]): Promise<readonly QuietSession[]> {
    return (await this.#threads.scans.call({ kind: 'quiet', which })) as readonly QuietSession[];
  }

  async remove(
    permit: FencePermit,
    sessions: readonly RemovedSession[],
  ): Promise<GraphRemovalCounts> {
    const fence = liveMark(permit);
    const counts = await this.#threads.writer.call({ kind: 'remove', fence, sessions });
    return counts as GraphRemovalCounts;
  }

  async vacuum(): Promise<void> {
    await this.#threads.writer.call({ kind: 'vacuum' });
  }

  async unreferenced(objects: readonly string[]): Promise<readonly string[]> {
    if (objects.length === 0) return [];
    return (await this.#threads.scans.call({ kind: 'unreferenced', objects })) as readonly string[];
  }

  async namedUntil(objects: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (objects.length === 0) return new Map();
    const found = await this.#threads.scans.call({ kind: 'named-until', objects });
    return found as ReadonlyMap<string, string>;
  }

  async usedBytes(): Promise<number> {
    return (await this.#threads.scans.call({ kind: 'used-bytes' })) as number;
  }

  async digest(): Promise<GraphDigest> {
    return (await this.#threads.scans.call({ kind: 'digest' })) as GraphDigest;
  }

  async stats(): Promise<GraphStats> {
    return (await this.#threads.queries.call({ kind: 'stats' })) as GraphStats;
  }

  async *export(): AsyncGenerator<Uint8Array> {
    const { scans } = this.#threads;
    const id = (await scans.call({ kind: 'export-open' })) as number;
    try {
      for (;;) {
        const chunk = await scans.call({ kind: 'export-next', export: id });
        if (chunk === undefined) return;
        yield chunk as Uint8Array;
      }
    } finally {
      await scans.call({ kind: 'export-close', export: id });
    }
  }

  async snapshot(): Promise<GraphSnapshot> {
    const { scans } = this.#threads;
    const id = (await scans.call({ kind: 'snapshot-open' })) as number;
    return {
      copyTo: async (path) =>
        (await scans.call({ kind: 'snapshot-copy', snapshot: id, path })) as GraphDigest,
      end: async () => void (await scans.call({ kind: 'snapshot-close', snapshot: id })),
    };
  }

  async query(name: string, parameters: Readonly<Record<string, unknown>>): Promise<QueryResult> {
    const bindings = bindParameters(namedQuery(name), parameters);
    const limit = Number(bindings['limit'] ?? limitParameter.default);
    const timeLimitMs = this.#options.queryTimeLimitMs ?? queryTimeLimitMsDefault;
    const request = { kind: 'query', name, bindings, limit, timeLimitMs } as const;
    return (await this.#threads.queries.call(request)) as QueryResult;
  }

  async cypher(query: CypherQuery, signal: AbortSignal): Promise<QueryResult> {
    const shared = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
    const cancel = (): void => {
      Atomics.store(new Int32Array(shared), cancelledAt, 1);
    };
    signal.addEventListener('abort', cancel, { once: true });
    const { queries } = this.#threads;
    const { timeMs } = query.limits;
    let isKilled = false;
    const endWatch = watchQuery(this.#options.clock, timeMs, shared, () => {
      isKilled = true;
      queries.kill('a query did not end, and its thread is started again');
    });
    try {
      const request = { kind: 'cypher', query, cancelled: shared } as const;
      return (await queries.call(request)) as QueryResult;
    } catch (error) {
      throw isKilled ? queryTimeout({ name: 'cypher', limitMs: timeMs }, error) : error;
    } finally {
      endWatch();
      signal.removeEventListener('abort', cancel);
    }
  }

  damage(): GraphDamage | undefined {
    return this.#watch.damage;
  }

  async probe(): Promise<void> {
    await this.#threads.writer.call({ kind: 'probe' });
  }

  async close(): Promise<void> {
    const { writer, queries, scans } = this.#threads;
    await Promise.all([queries.close(), scans.close()]);
    await writer.close({ kind: 'close' });
  }
}

/** The permit's claim, to be checked where the bytes land (FEN-404). */
function liveMark(permit: FencePermit): FenceMark {
  const { domain, generation, holder } = permit;
  if (!permit.isLive) throw fenceLost({ domain, generation });
  return { domain, generation, holder };
}
