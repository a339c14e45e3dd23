import { sessionNodeId } from '#record';
import { agentEdgeType } from '../derive-agents.ts';
import type { ToldFact } from '../derive/derive-session.ts';
import type { NodeChange } from '../group-changes.ts';
import { derivedEdgeTypes } from '../merge-group.ts';
import type { NodeState } from '../node-state.ts';
import { isSpokenOf, stubOf } from './owned-nodes.ts';

export interface EdgePlace {
  readonly from: string;
  readonly type: string;
  readonly to: string;
}

/** An edge with an end that goes, and its other end. */
export interface NearEdge extends EdgePlace {
  readonly other: {
    readonly id: string;
    readonly owner: string | null;
    readonly isWritten: boolean;
  };
}

/** What is left of the sessions that go, once what they told is taken away; all of one workspace. */
export interface RemovalState {
  readonly owners: readonly string[];
  readonly removed: ReadonlyMap<string, NodeState>;
  readonly edges: readonly NearEdge[];
  /** Facts that others told, by the session that they are about. */
  readonly facts: ReadonlyMap<string, readonly ToldFact[]>;
  /** Sessions that a fact names as a parent. */
  readonly parents: ReadonlySet<string>;
}

export interface RemovalPlan {
  readonly droppedEdges: readonly EdgePlace[];
  /** Nodes of which others still tell. */
  readonly stubs: ReadonlyMap<string, NodeChange>;
  readonly gone: readonly string[];
  /** Other ends of the edges: stubs among them may have lost whoever spoke of them. */
  readonly beside: ReadonlySet<string>;
}

/** The same rules as in the embedded store (P12, B122). Pure. */
export function planRemoval(state: RemovalState): RemovalPlan {
  const { removed, edges } = state;
  const kept = edges.filter((edge) => isOfOthers(edge, state));
  const held = new Set(kept.flatMap(({ from, to }) => [from, to]).filter((id) => removed.has(id)));
  for (const id of toldOf(state, held)) held.add(id);
  const stubs = new Map<string, NodeChange>();
  for (const id of held) {
    const before = removed.get(id);
    if (before !== undefined) stubs.set(id, { before, after: stubOf(before) });
  }
  const dropped = new Map<string, EdgePlace>();
  const keptKeys = new Set(kept.map(keyOf));
  for (const { from, type, to } of edges) {
    const key = keyOf({ from, type, to });
    if (!keptKeys.has(key)) dropped.set(key, { from, type, to });
  }
  return {
    droppedEdges: [...dropped.values()],
    stubs,
    gone: [...removed.keys()].filter((id) => !stubs.has(id)),
    beside: new Set(edges.map(({ other }) => other.id).filter((id) => !removed.has(id))),
  };
}

/** Of the edges with one end here, those that only the other session can have drawn stay. */
function isOfOthers(edge: NearEdge, { removed, facts }: RemovalState): boolean {
  const { from, type, to, other } = edge;
  if (removed.has(other.id) || !other.isWritten || other.owner === null) return false;
  const [isFrom, near] = removed.has(from) ? [true, from] : [false, to];
  const state = removed.get(near);
  if (state === undefined || !isSpokenOf(state)) return false;
  if (type === agentEdgeType) return false;
  if (!isFrom) return !derivedEdgeTypes.includes(type);
  if (type !== 'ENCOMPASSES') return true;
  return (facts.get(state.owner ?? '') ?? []).some(
    ({ fact }) => 'delegation' in fact && fact.delegation === near,
  );
}

/** Session nodes and delegations of which facts of others tell. */
function toldOf(
  { owners, facts, parents }: RemovalState,
  held: ReadonlySet<string>,
): readonly string[] {
  return owners.flatMap((session) => {
    const told = facts.get(session) ?? [];
    const node = sessionNodeId(session);
    const isThere = parents.has(session) || told.length > 0 || held.has(node);
    const delegations = told.flatMap(({ fact }) => ('delegation' in fact ? [fact.delegation] : []));
    return [...(isThere ? [node] : []), ...delegations];
  });
}

function keyOf({ from, type, to }: EdgePlace): string {
  return `${from}\u0000${type}\u0000${to}`;
}
