import { Gate, isMillraceError, type Chance, type Clock } from '#base';
import type { FencePermit } from '#fence';
import type { Key } from '#record';
import { graphMismatch, graphUnavailable, queryTimeout } from '../errors.ts';
import type { AnyPart } from '../packed-part.ts';
import { bindParameters } from '../queries/bind-parameters.ts';
import { namedQuery } from '../queries/named-queries.ts';
import { limitParameter } from '../queries/named-query.ts';
import type {
  GraphRemoval,
  GraphRemovalCounts,
  QuietSession,
  RemovedSession,
  SessionSurvey,
} from '../removal.ts';
import type {
  AppliedRow,
  CypherQuery,
  GraphDigest,
  GraphStats,
  GraphStore,
  QueryResult,
  WhichRows,
} from '../store.ts';
import { isTimedOut } from './classify.ts';
import { statement } from './cypher.ts';
import { Neo4jCypherReader } from './cypher-reader.ts';
import { digestOf, exportChunks, statsOf } from './export.ts';
import { adoptRows, applyGroup, armKeys, liveMark, readRows, unpackGroup } from './group-writer.ts';
import { Neo4jLink, type Neo4jAddress, type Transaction } from './link.ts';
import { runNamedQuery } from './named-queries.ts';
import { factSourceIndex, removeInterior, removeRest } from './remove-sessions.ts';
import { prepareDatabase, type OpenedGraph } from './schema.ts';
import {
  descendants,
  namedUntil,
  quiet,
  survey,
  unreferenced,
  usedBytes,
} from './session-questions.ts';
import { Spool } from './spool.ts';

export type { Neo4jAddress } from './link.ts';
export type { OpenedGraph } from './schema.ts';

export interface Neo4jGraphOptions extends Neo4jAddress {
  /** Root whose queue feeds this graph: written into the keys' rows (ING-540). */
  readonly rootId: string;
  /** Arms the graph while it is opened, as far as it answers: FENCE_STALE when it carries a higher generation (FEN-113, FEN-403). */
  readonly permit?: FencePermit;
  /** Spill limit of a graph that is made now; one that exists keeps its own (D30). */
  readonly spillBytes: number;
  readonly clock: Clock;
  readonly chance: Chance;
  /** The graph that was met before: a store that is away is opened with it, and records wait until it answers. Another graph is refused then. */
  readonly known?: OpenedGraph | undefined;
  /** Time limit of one query. */
  readonly queryTimeLimitMs?: number;
  /** Time limit of one writing transaction, for a writer that stops inside of it (FEN-410). */
  readonly writeTimeLimitMs?: number;
}

const queryTimeLimitMsDefault = 5_000;
const writeTimeLimitMsDefault = 120_000;
const statsTimeLimitMs = 120_000;
/** Exports that may run at once. */
const exportsMax = 4;

/** What only a graph without snapshots needs. */
export interface Neo4jGraphStore extends GraphStore, GraphRemoval {
  /** From here on no group is applied; resolves, once none is under way, to what lets them go on. Until then a copy is of one instant. */
  hold(): Promise<() => void>;
}

/** Opens the graph in a Neo4j server. Errors: as GraphStore, and FORMAT_TOO_NEW (`fatal`). */
export async function openNeo4jGraph(options: Neo4jGraphOptions): Promise<Neo4jGraphStore> {
  const link = new Neo4jLink(options, options.clock, options.chance);
  try {
    const opening = new Opening(link, options);
    const opened = await opening.first();
    const graph = new Neo4jGraph(options, link, opening, opened);
    if (options.permit !== undefined && opening.isDone)
      await armUnlessForeign(graph, options.permit);
    return graph;
  } catch (error) {
    await link.close();
    throw error;
  }
}

async function armUnlessForeign(graph: GraphStore, permit: FencePermit): Promise<void> {
  try {
    await graph.armKeys(permit, []);
  } catch (error) {
    if (!graphMismatch.is(error)) throw error;
  }
}

/** Looks at the database before anything is done with it, again until it has answered once. */
class Opening {
  readonly #link: Neo4jLink;
  readonly #options: Neo4jGraphOptions;
  #expected: OpenedGraph | undefined;
  #running: Promise<OpenedGraph> | undefined;
  #isDone = false;

  constructor(link: Neo4jLink, options: Neo4jGraphOptions) {
    this.#link = link;
    this.#options = options;
    this.#expected = options.known;
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  async first(): Promise<OpenedGraph> {
    try {
      return await this.whole();
    } catch (error) {
      const isAway = isMillraceError(error) && error.disposition === 'retry';
      if (this.#expected === undefined || !isAway) throw error;
      return this.#expected;
    }
  }

  async whole(): Promise<OpenedGraph> {
    this.#running ??= this.#open();
    try {
      return await this.#running;
    } catch (error) {
      this.#running = undefined;
      throw error;
    }
  }

  async #open(): Promise<OpenedGraph> {
    const { spillBytes, chance, writeTimeLimitMs } = this.#options;
    const timeoutMs = writeTimeLimitMs ?? writeTimeLimitMsDefault;
    const found = await prepareDatabase(this.#link, { spillBytes, chance, timeoutMs });
    const expected = this.#expected?.graphId;
    if (expected !== undefined && expected !== found.graphId)
      throw graphMismatch({ thing: 'the id', expected, found: found.graphId });
    this.#expected = found;
    this.#isDone = true;
    return found;
  }
}

class Neo4jGraph implements Neo4jGraphStore {
  readonly graphId: string;
  readonly spillBytes: number;
  readonly #options: Neo4jGraphOptions;
  readonly #link: Neo4jLink;
  readonly #cypher: Neo4jCypherReader;
  readonly #opening: Opening;
  /** Exports that run; one that was left holds nothing. */
  readonly #spools = new Set<Spool>();
  /** Writers pass; who wants the graph of one instant holds it, because Neo4j has no snapshots. */
  readonly #gate = new Gate();

  constructor(
    options: Neo4jGraphOptions,
    link: Neo4jLink,
    opening: Opening,
    { graphId, spillBytes }: OpenedGraph,
  ) {
    this.graphId = graphId;
    this.spillBytes = spillBytes;
    this.#options = options;
    this.#link = link;
    this.#cypher = new Neo4jCypherReader(link, options.clock);
    this.#opening = opening;
  }

  async armKeys(
    permit: FencePermit,
    keys: readonly Key[],
  ): Promise<ReadonlyMap<Key, AppliedRow | null>> {
    liveMark(permit);
    const { graphId } = this;
    const rows = await this.#write((tx) => armKeys(tx, { graphId, permit }, keys));
    return new Map([...rows].map(([key, row]) => [key, row ?? null]));
  }

  async apply(permit: FencePermit, group: readonly AnyPart[]): Promise<void> {
    liveMark(permit);
    const parts = unpackGroup(group);
    const guarded = { graphId: this.graphId, rootId: this.#options.rootId, permit };
    await this.#write((tx) => applyGroup(tx, guarded, parts));
  }

  async adopt(permit: FencePermit, rows: ReadonlyMap<Key, AppliedRow | null>): Promise<void> {
    liveMark(permit);
    const { graphId } = this;
    await this.#write((tx) => adoptRows(tx, { graphId, permit }, rows));
  }

  async rows(which: WhichRows): Promise<ReadonlyMap<Key, AppliedRow>> {
    await this.#opening.whole();
    return this.#link.read((tx) => readRows(tx, which), this.#writeMs);
  }

  async digest(): Promise<GraphDigest> {
    await this.#opening.whole();
    const release = await this.hold();
    try {
      return await digestOf(this.#link);
    } finally {
      release();
    }
  }

  async stats(): Promise<GraphStats> {
    await this.#opening.whole();
    return this.#link.read((tx) => statsOf(tx), statsTimeLimitMs);
  }

  async *export(): AsyncGenerator<Uint8Array> {
    await this.#opening.whole();
    for (const spool of this.#spools) if (spool.isLeft) this.#spools.delete(spool);
    if (this.#spools.size >= exportsMax)
      throw graphUnavailable({ reason: `${exportsMax} exports run; wait until one has ended` });
    const spool = new Spool(this.#options.clock);
    this.#spools.add(spool);
    const release = await this.hold();
    const scanning = this.#scan(spool).finally(release);
    yield* spool.read();
    await scanning;
  }

  async query(name: string, parameters: Readonly<Record<string, unknown>>): Promise<QueryResult> {
    const bindings = bindParameters(namedQuery(name), parameters);
    const limit = Number(bindings['limit'] ?? limitParameter.default);
    const timeLimitMs = this.#options.queryTimeLimitMs ?? queryTimeLimitMsDefault;
    await this.#opening.whole();
    try {
      return await this.#link.read((tx) => runNamedQuery(tx, name, bindings, limit), timeLimitMs);
    } catch (error) {
      throw isTimedOut(error) ? queryTimeout({ name, limitMs: timeLimitMs }) : error;
    }
  }

  async cypher(query: CypherQuery, signal: AbortSignal): Promise<QueryResult> {
    await this.#opening.whole();
    return this.#cypher.run(query, signal);
  }

  /** The server looks after its own files. */
  vacuum(): Promise<void> {
    return Promise.resolve();
  }

  usedBytes(): Promise<number> {
    return this.#readLong((tx) => usedBytes(tx));
  }

  survey(of: Omit<RemovedSession, 'key'>): Promise<SessionSurvey> {
    return this.#readLong((tx) => survey(tx, of));
  }

  quiet(which: Parameters<GraphRemoval['quiet']>[0]): Promise<readonly QuietSession[]> {
    return this.#readLong((tx) => quiet(tx, which));
  }

  descendants(of: Omit<RemovedSession, 'key'>): Promise<readonly string[]> {
    return this.#readLong((tx) => descendants(tx, of));
  }

  async unreferenced(objects: readonly string[]): Promise<readonly string[]> {
    await this.#opening.whole();
    return unreferenced(this.#link, objects, statsTimeLimitMs);
  }

  async namedUntil(objects: readonly string[]): Promise<ReadonlyMap<string, string>> {
    await this.#opening.whole();
    return namedUntil(this.#link, objects, statsTimeLimitMs);
  }

  /** In transactions of bounded size, the one that others see last; whatever ends it in between, it is taken up again by the same call (B174). */
  async remove(
    permit: FencePermit,
    sessions: readonly RemovedSession[],
  ): Promise<GraphRemovalCounts> {
    liveMark(permit);
    await this.#opening.whole();
    await this.#link.alone(factSourceIndex);
    const by = { graphId: this.graphId, permit, sessions };
    let [nodes, edges] = [0, 0];
    for (const session of sessions)
      for (let after: string | undefined = ''; after !== undefined;) {
        const from: string = after;
        const page: Awaited<ReturnType<typeof removeInterior>> = await this.#write((tx) =>
          removeInterior(tx, by, session, from),
        );
        nodes += page.nodes;
        edges += page.edges;
        ({ after } = page);
      }
    for (const workspace of new Set(sessions.map((one) => one.workspace))) {
      const rest = await this.#write((tx) => removeRest(tx, by, workspace));
      nodes += rest.nodes;
      edges += rest.edges;
    }
    return { nodes, edges };
  }

  hold(): Promise<() => void> {
    return this.#gate.hold(new AbortController().signal);
  }

  async probe(): Promise<void> {
    await this.#opening.whole();
    const text = "MATCH (g:MillraceGraph {name: 'graph'}) SET g.touch = 0 RETURN 1 AS one";
    await this.#link.write((tx) => tx.run(statement(text)), this.#writeMs);
  }

  async close(): Promise<void> {
    this.#gate.break();
    await this.#link.close();
  }

  get #writeMs(): number {
    return this.#options.writeTimeLimitMs ?? writeTimeLimitMsDefault;
  }

  async #readLong<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    await this.#opening.whole();
    return this.#link.read(work, statsTimeLimitMs);
  }

  async #write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    await this.#opening.whole();
    return this.#gate.pass(() => this.#link.write(work, this.#writeMs));
  }

  async #scan(spool: Spool): Promise<void> {
    try {
      for await (const chunk of exportChunks(this.#link)) {
        if (spool.isLeft) break;
        spool.put(chunk);
      }
      spool.end();
    } catch (error) {
      spool.end({ error });
    }
  }
}
