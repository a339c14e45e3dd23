import { agentEdgeType } from '../derive-agents.ts';
import type { ToldFact } from '../derive/derive-session.ts';
import type { GraphReader, GroupChanges, StoredParentEdge } from '../group-changes.ts';
import { derivedEdgeTypes, mergeGroup, type PartMutations } from '../merge-group.ts';
import type { SessionFact } from '../mutation.ts';
import type { EdgeState, NodeState } from '../node-state.ts';
import { sessionNodeId } from '#record';
import { edgeKey, inBatches, joined, statement } from './cypher.ts';
import type { Row, Transaction } from './link.ts';
import { edgeState, nodeLabel, nodeState } from './stored-form.ts';

/** A property that never stays: setting it takes the node's write lock. */
const lockProperty = '_millrace_lock';

const lockNodes = `UNWIND $rows AS r
MATCH (n:${nodeLabel} {workspace: r.w, node_id: r.id})
SET n.${lockProperty} = true REMOVE n.${lockProperty}
RETURN r.key AS key, r.id AS id, labels(n) AS labels, properties(n) AS properties`;

const readFacts = `UNWIND $rows AS r
MATCH (f:MillraceFact {about: r.key})
RETURN r.key AS key, f.source AS source, f.fact AS fact`;

const readAgents = `UNWIND $rows AS r
MATCH (:${nodeLabel} {workspace: r.w, node_id: r.id})-[:${agentEdgeType}]->(m:${nodeLabel})
RETURN r.key AS key, m.node_id AS agent`;

const readParents = `UNWIND $rows AS r
MATCH (:${nodeLabel} {workspace: r.w, node_id: r.id})<-[e:${derivedEdgeTypes.join('|')}]-(m:${nodeLabel})
RETURN r.key AS key, m.node_id AS from, type(e) AS type, properties(e) AS properties`;

const readEdges = `UNWIND $rows AS r
MATCH (a:${nodeLabel} {workspace: r.w, node_id: r.from})
MATCH (b:${nodeLabel} {workspace: r.w, node_id: r.to})
MATCH (a)-[e:$(r.type)]->(b)
RETURN r.key AS key, properties(e) AS properties`;

/** Passes after which a merge that still wants to read more is a defect: chains of sessions end after 8 hops. */
const passesMax = 40;

export interface MergedGroup {
  readonly changes: ReadonlyMap<string, GroupChanges>;
  /** State of the edges that were there and that the group draws again, by `edgeKey`. */
  readonly edges: ReadonlyMap<string, EdgeState>;
}

/**
 * Merges a group against what the database holds. The merge reads without waiting, so it runs until it asks for nothing that has not been
 * read: what it asks for is locked, in sorted order, and then read, so that it stays as it is until the transaction ends (ING-616).
 */
export async function mergeInside(
  tx: Transaction,
  parts: readonly PartMutations[],
): Promise<MergedGroup> {
  const changes = await readUntilKnown(tx, (reads) => mergeGroup(reads, parts));
  return { changes, edges: await readOldEdges(tx, changes) };
}

/** Works out changes again and again until everything that they ask for has been locked and read. */
export async function readUntilKnown(
  tx: Transaction,
  make: (reads: GraphReader) => ReadonlyMap<string, GroupChanges>,
): Promise<ReadonlyMap<string, GroupChanges>> {
  const reads = new ReadSet();
  for (let pass = 1; pass <= passesMax; pass += 1) {
    const changes = make(reads);
    for (const [workspace, { conceptSources }] of changes)
      for (const { id } of conceptSources) reads.node(workspace, id);
    if (reads.isComplete) return changes;
    await reads.fill(tx);
  }
  throw new Error(`a merge was not done after ${passesMax} passes`);
}

interface Place {
  readonly key: string;
  readonly w: string;
  readonly id: string;
}

/** What was read of the database so far; the rest is noted, and looks empty until it has been read. */
class ReadSet implements GraphReader {
  readonly #nodes = new Map<string, NodeState | undefined>();
  readonly #facts = new Map<string, ToldFact[]>();
  readonly #agents = new Map<string, string[]>();
  readonly #parents = new Map<string, StoredParentEdge[]>();
  #wanted = { nodes: newPlaces(), facts: newPlaces(), agents: newPlaces(), parents: newPlaces() };

  get isComplete(): boolean {
    const { nodes, facts, agents, parents } = this.#wanted;
    return nodes.size + facts.size + agents.size + parents.size === 0;
  }

  node(workspace: string, id: string): NodeState | undefined {
    const key = joined(workspace, id);
    if (!this.#nodes.has(key)) this.#wanted.nodes.set(key, { key, w: workspace, id });
    return this.#nodes.get(key);
  }

  /** The session's node is the lock of its facts: whoever tells one writes it. */
  facts(workspace: string, session: string): readonly ToldFact[] {
    const key = joined(workspace, session);
    const known = this.#facts.get(key);
    if (known !== undefined) return known;
    this.node(workspace, sessionNodeId(session));
    this.#wanted.facts.set(key, { key, w: workspace, id: session });
    return [];
  }

  agents(workspace: string, id: string): readonly string[] {
    return this.#edgesOf(this.#agents, this.#wanted.agents, workspace, id);
  }

  parentEdges(workspace: string, id: string): readonly StoredParentEdge[] {
    return this.#edgesOf(this.#parents, this.#wanted.parents, workspace, id);
  }

  /** The statements go out together; locks first. */
  async fill(tx: Transaction): Promise<void> {
    const { nodes, facts, agents, parents } = this.#wanted;
    this.#wanted = {
      nodes: newPlaces(),
      facts: newPlaces(),
      agents: newPlaces(),
      parents: newPlaces(),
    };
    for (const key of nodes.keys()) this.#nodes.set(key, undefined);
    for (const key of facts.keys()) this.#facts.set(key, []);
    for (const key of agents.keys()) this.#agents.set(key, []);
    for (const key of parents.keys()) this.#parents.set(key, []);
    const [nodeRows, factRows, agentRows, parentRows] = await Promise.all([
      runPlaces(tx, lockNodes, nodes),
      runPlaces(tx, readFacts, facts),
      runPlaces(tx, readAgents, agents),
      runPlaces(tx, readParents, parents),
    ]);
    for (const row of nodeRows) this.#nodes.set(String(row['key']), stateOf(row));
    for (const row of factRows) this.#facts.get(String(row['key']))?.push(factOf(row));
    for (const row of agentRows) this.#agents.get(String(row['key']))?.push(String(row['agent']));
    for (const row of parentRows) this.#parents.get(String(row['key']))?.push(parentOf(row));
  }

  #edgesOf<T>(
    known: ReadonlyMap<string, readonly T[]>,
    wanted: Map<string, Place>,
    workspace: string,
    id: string,
  ): readonly T[] {
    const key = joined(workspace, id);
    const found = known.get(key);
    if (found === undefined) wanted.set(key, { key, w: workspace, id });
    return found ?? [];
  }
}

function newPlaces(): Map<string, Place> {
  return new Map();
}

async function runPlaces(
  tx: Transaction,
  text: string,
  places: ReadonlyMap<string, Place>,
): Promise<readonly Row[]> {
  const sorted = [...places.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const answers = inBatches(sorted).map((rows) => tx.run(statement(text, { rows })));
  return (await Promise.all(answers)).flat();
}

function stateOf(row: Row): NodeState {
  const properties = row['properties'] as Readonly<Record<string, unknown>>;
  return nodeState(String(row['id']), row['labels'] as readonly string[], properties);
}

function factOf(row: Row): ToldFact {
  return {
    source: String(row['source']),
    fact: JSON.parse(String(row['fact'])) as SessionFact,
  };
}

function parentOf(row: Row): StoredParentEdge {
  const { occurredAt } = edgeState(row['properties'] as Readonly<Record<string, unknown>>);
  return { from: String(row['from']), type: String(row['type']), occurredAt };
}

/** Only an edge between two nodes that were there can have been there. */
export async function readOldEdges(
  tx: Transaction,
  changes: ReadonlyMap<string, GroupChanges>,
): Promise<ReadonlyMap<string, EdgeState>> {
  const rows = [...changes].flatMap(([w, { nodes, edges }]) => {
    const isNew = (id: string): boolean => {
      const change = nodes.get(id);
      return change !== undefined && change.before === undefined;
    };
    return [...edges.values()]
      .filter(({ isReplaced, state }) => !isReplaced && state !== undefined)
      .filter(({ from, to }) => !isNew(from) && !isNew(to))
      .map(({ from, type, to }) => ({ key: edgeKey(w, { from, type, to }), w, from, type, to }));
  });
  const answers = inBatches(rows).map((batch) => tx.run(statement(readEdges, { rows: batch })));
  return new Map(
    (await Promise.all(answers))
      .flat()
      .map((row) => [
        String(row['key']),
        edgeState(row['properties'] as Readonly<Record<string, unknown>>),
      ]),
  );
}
