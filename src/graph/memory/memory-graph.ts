import { createHash } from 'node:crypto';
import { canonicalJson, systemClock, type JsonValue, type MillraceError } from '#base';
import { fenceLost, fenceStale, type FencePermit } from '#fence';
import type { Key } from '#record';
import { edgeLine, exportedEdgeText, exportedText, nodeLine } from '../canonical.ts';
import { checkMutations } from '../check-mutations.ts';
import { CypherRunner } from '../cypher/index.ts';
import type { ToldFact } from '../derive/derive-session.ts';
import { graphMismatch, graphUnavailable, queryUnknown } from '../errors.ts';
import { checkFence, type FenceMark } from '../fence-mark.ts';
import type { EdgeChange, GraphReader, GroupChanges } from '../group-changes.ts';
import { derivedEdgeTypes, mergeGroup } from '../merge-group.ts';
import { mergeEdge } from '../merge-node.ts';
import { visibleLabels, visibleProperties, type EdgeState, type NodeState } from '../node-state.ts';
import { stepsOf, type AnyPart, type AppliedStep } from '../packed-part.ts';
import { planSteps } from '../plan-steps.ts';
import { memoryView } from './memory-view.ts';
import type {
  AppliedRow,
  CypherQuery,
  GraphDigest,
  GraphStats,
  GraphStore,
  GroupPart,
  QueryResult,
  WhichRows,
} from '../store.ts';

interface UnpackedPart extends Omit<GroupPart, 'steps'> {
  readonly steps: readonly AppliedStep[];
}

interface KeptEdge {
  readonly workspace: string;
  readonly from: string;
  readonly type: string;
  readonly to: string;
  readonly state: EdgeState;
}

/** What outlives a store that is opened again. */
export interface MemoryGraphContent {
  readonly graphId: string;
  readonly spillBytes: number;
  readonly nodes: Map<string, NodeState>;
  readonly edges: Map<string, KeptEdge>;
  readonly facts: Map<string, Map<string, ToldFact>>;
  /** Concept → sessions that name it. */
  readonly sources: Map<string, Set<string>>;
  readonly rows: Map<Key, AppliedRow>;
  mark: FenceMark | undefined;
}

export function emptyMemoryGraph(graphId = 'memory-graph'): MemoryGraphContent {
  return {
    graphId,
    spillBytes: 32 * 1024,
    nodes: new Map(),
    edges: new Map(),
    facts: new Map(),
    sources: new Map(),
    rows: new Map(),
    mark: undefined,
  };
}

/** The content at this instant; what is applied to one copy is not seen in the other. */
export function copyMemoryGraph(content: MemoryGraphContent): MemoryGraphContent {
  const { graphId, spillBytes, nodes, edges, facts, sources, rows, mark } = content;
  return {
    graphId,
    spillBytes,
    nodes: new Map(nodes),
    edges: new Map(edges),
    facts: new Map([...facts].map(([key, told]) => [key, new Map(told)])),
    sources: new Map([...sources].map(([key, named]) => [key, new Set(named)])),
    rows: new Map(rows),
    mark,
  };
}

/** A graph store over maps, with faults on order: for tests of the rooms above, and the laboratory. It has no named queries. */
export interface MemoryGraph extends GraphStore {
  /** The next `apply` fails with this and leaves nothing; several are taken in order. */
  failNext(error: MillraceError): void;
  /** Every call but `close` fails with GRAPH_UNAVAILABLE until it is set back. */
  setUnavailable(isAway: boolean): void;
  /** Groups that were applied, in order, as they came. */
  readonly applied: readonly (readonly GroupPart[])[];
}

export function openMemoryGraph(
  options: { readonly rootId?: string; readonly content?: MemoryGraphContent } = {},
): MemoryGraph {
  return new MapGraph(options.rootId ?? 'root', options.content ?? emptyMemoryGraph());
}

class MapGraph implements MemoryGraph {
  readonly applied: (readonly GroupPart[])[] = [];
  readonly #rootId: string;
  readonly #content: MemoryGraphContent;
  readonly #failures: MillraceError[] = [];
  #isAway = false;
  #isClosed = false;

  constructor(rootId: string, content: MemoryGraphContent) {
    this.#rootId = rootId;
    this.#content = content;
  }

  get graphId(): string {
    return this.#content.graphId;
  }

  get spillBytes(): number {
    return this.#content.spillBytes;
  }

  failNext(error: MillraceError): void {
    this.#failures.push(error);
  }

  setUnavailable(isAway: boolean): void {
    this.#isAway = isAway;
  }

  async armKeys(
    permit: FencePermit,
    keys: readonly Key[],
  ): Promise<ReadonlyMap<Key, AppliedRow | null>> {
    await this.#answering();
    this.#guard(permit);
    return new Map(keys.map((key) => [key, this.#content.rows.get(key) ?? null]));
  }

  async apply(permit: FencePermit, group: readonly AnyPart[]): Promise<void> {
    await this.#answering();
    if (!permit.isLive) this.#checkPermit(permit);
    for (const part of group)
      for (const { mutations } of stepsOf(part)) checkMutations(part.session, mutations);
    const failure = this.#failures.shift();
    if (failure !== undefined) throw failure;
    this.#checkPermit(permit);
    const rows = new Map(this.#content.rows);
    const parts = group.flatMap((part) => this.#plan(part, rows));
    const changes = mergeGroup(readerOf(this.#content), parts);
    this.#guard(permit);
    for (const [workspace, changed] of changes) keep(this.#content, workspace, changed);
    for (const [key, row] of rows) this.#content.rows.set(key, row);
    this.applied.push(group as readonly GroupPart[]);
  }

  async adopt(permit: FencePermit, rows: ReadonlyMap<Key, AppliedRow | null>): Promise<void> {
    await this.#answering();
    this.#guard(permit, { mayTakeOver: true });
    for (const [key, row] of rows) {
      if (row === null) this.#content.rows.delete(key);
      else this.#content.rows.set(key, row);
    }
  }

  async rows(which: WhichRows): Promise<ReadonlyMap<Key, AppliedRow>> {
    await this.#answering();
    const { rows } = this.#content;
    if ('keys' in which) return new Map([...rows].filter(([key]) => which.keys.includes(key)));
    const { after = '', limit } = which;
    const keys = [...rows].filter(([key]) => key > after);
    return new Map(keys.toSorted(([a], [b]) => (a < b ? -1 : 1)).slice(0, limit));
  }

  async digest(): Promise<GraphDigest> {
    const hash = createHash('sha256');
    for await (const chunk of this.export()) hash.update(chunk);
    const { nodes, edges } = this.#content;
    return { digest: hash.digest('hex'), nodes: nodes.size, edges: edges.size };
  }

  async stats(): Promise<GraphStats> {
    await this.#answering();
    const { nodes, edges } = this.#content;
    const labels = [...nodes.values()].flatMap(visibleLabels);
    const types = [...edges.values()].map(({ type }) => type);
    return { nodes: nodes.size, edges: edges.size, labels: count(labels), types: count(types) };
  }

  async *export(): AsyncGenerator<Uint8Array> {
    await this.#answering();
    const lines = Array.from(linesOf(this.#content));
    for (const line of lines) yield Buffer.from(line);
  }

  async query(name: string): Promise<QueryResult> {
    await this.#answering();
    throw queryUnknown({ name, known: [] });
  }

  async cypher({ text, parameters, workspaces, limits }: CypherQuery): Promise<QueryResult> {
    await this.#answering();
    const view = memoryView(this.#content, workspaces);
    const runner = new CypherRunner(systemClock);
    return runner.run(view, { text, parameters }, { ...limits, held: 100_000 });
  }

  async probe(): Promise<void> {
    await this.#answering();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  /** A real store answers in a later turn of the event loop; so does this one. */
  async #answering(): Promise<void> {
    await Promise.resolve();
    if (this.#isClosed) throw graphUnavailable({ reason: 'it is closed' });
    if (this.#isAway) throw graphUnavailable({ reason: 'it is away' });
  }

  #checkPermit(permit: FencePermit, options: { mayTakeOver?: boolean } = {}): void {
    const { domain, generation } = permit;
    if (!permit.isLive) throw fenceLost({ domain, generation });
    const { mark } = this.#content;
    const verdict = checkFence(mark, permit);
    if (verdict === 'stale')
      throw fenceStale({ domain, thing: 'the graph', generation, mark: mark?.generation ?? 0 });
    if (verdict === 'foreign' && options.mayTakeOver !== true)
      throw graphMismatch({ thing: 'the guard', expected: domain, found: mark?.domain ?? '' });
  }

  #guard(permit: FencePermit, options: { mayTakeOver?: boolean } = {}): void {
    this.#checkPermit(permit, options);
    const { domain, generation, holder } = permit;
    this.#content.mark = { domain, generation, holder };
  }

  #plan(part: AnyPart, rows: Map<Key, AppliedRow>): UnpackedPart[] {
    const row = rows.get(part.key);
    if (row !== undefined && row.rootId !== this.#rootId)
      throw graphMismatch({
        thing: `the row of ${part.key}`,
        expected: this.#rootId,
        found: row.rootId,
      });
    const planned = planSteps(stepsOf(part), row?.position);
    if (planned === undefined) return [];
    const { after: position, sha256 } = planned.last;
    rows.set(part.key, { rootId: this.#rootId, position, sha256 });
    const { key, workspace, session } = part;
    return [{ key, workspace, session, steps: planned.steps }];
  }
}

function readerOf(content: MemoryGraphContent): GraphReader {
  return {
    node: (workspace, id) => content.nodes.get(join(workspace, id)),
    facts: (workspace, session) => [
      ...(content.facts.get(join(workspace, session))?.values() ?? []),
    ],
    agents: (workspace, id) =>
      [...content.edges.values()]
        .filter((edge) => edge.workspace === workspace && edge.from === id)
        .filter(({ type }) => type === 'HAS_AGENT')
        .map(({ to }) => to),
    parentEdges: (workspace, id) =>
      [...content.edges.values()]
        .filter((edge) => edge.workspace === workspace && edge.to === id)
        .filter(({ type }) => derivedEdgeTypes.includes(type))
        .map(({ from, type, state }) => ({ from, type, occurredAt: state.occurredAt })),
  };
}

function keep(content: MemoryGraphContent, workspace: string, changes: GroupChanges): void {
  for (const [id, { after }] of changes.nodes) content.nodes.set(join(workspace, id), after);
  for (const change of changes.edges.values()) keepEdge(content, workspace, change);
  for (const { about, source, fact } of changes.factChanges) {
    const key = join(workspace, about);
    const told = content.facts.get(key) ?? new Map<string, ToldFact>();
    content.facts.set(key, told);
    told.set(join(source, fact.type), { source, fact });
  }
  for (const { id, session, occurredAt } of changes.conceptSources) {
    const key = join(workspace, id);
    const named = content.sources.get(key) ?? new Set<string>();
    content.sources.set(key, named);
    if (occurredAt !== undefined) named.add(session);
  }
  for (const { id, session, occurredAt } of changes.conceptSources) {
    const named = content.sources.get(join(workspace, id));
    if (occurredAt === undefined && named?.delete(session) === true && named.size === 0)
      content.nodes.delete(join(workspace, id));
  }
}

function keepEdge(content: MemoryGraphContent, workspace: string, change: EdgeChange): void {
  const { from, type, to, isReplaced, state } = change;
  const key = join(workspace, from, type, to);
  const before = isReplaced ? undefined : content.edges.get(key)?.state;
  if (state === undefined) content.edges.delete(key);
  else content.edges.set(key, { workspace, from, type, to, state: mergeEdge(before, state) });
}

function* linesOf(content: MemoryGraphContent): Generator<string> {
  const nodes = [...content.nodes].map(([key, state]) => {
    const [workspace = '', id = ''] = key.split('\u0000');
    const properties = exportedText(canonicalJson(visibleProperties(state) as JsonValue));
    return { workspace, id, labels: visibleLabels(state), properties };
  });
  yield* nodes.toSorted((a, b) => bytewise([a.workspace, a.id], [b.workspace, b.id])).map(nodeLine);
  const order = (edge: KeptEdge): string[] => [edge.workspace, edge.from, edge.type, edge.to];
  const edges = [...content.edges.values()].toSorted((a, b) => bytewise(order(a), order(b)));
  for (const { workspace, from, type, to, state } of edges) {
    const stored = canonicalJson(state.properties as JsonValue);
    const properties = exportedEdgeText(stored, state.occurredAt);
    yield edgeLine({ workspace, from, type, to, properties });
  }
}

function bytewise(a: readonly string[], b: readonly string[]): number {
  for (const [at, text] of a.entries()) {
    const difference = Buffer.compare(Buffer.from(text), Buffer.from(b[at] ?? ''));
    if (difference !== 0) return difference;
  }
  return 0;
}

function count(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function join(...parts: readonly string[]): string {
  return parts.join('\u0000');
}
