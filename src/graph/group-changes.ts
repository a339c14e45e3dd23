import type { ToldFact } from './derive/derive-session.ts';
import type { EdgeState, NodeState } from './node-state.ts';

/** What a merge needs to read of a store, inside its transaction. */
export interface GraphReader {
  node(workspace: string, id: string): NodeState | undefined;
  /** All facts about a session. */
  facts(workspace: string, session: string): readonly ToldFact[];
  /** Concepts to which the HAS_AGENT edges of a session's node lead. */
  agents(workspace: string, sessionNode: string): readonly string[];
  /** Edges of the derived types that lead into a session's node. */
  parentEdges(workspace: string, sessionNode: string): readonly StoredParentEdge[];
}

export interface StoredParentEdge {
  readonly from: string;
  readonly type: string;
  readonly occurredAt: string | undefined;
}

/** What one group changes in one workspace: values, computed without touching the store. Written nodes first, then what points at them. */
export interface GroupChanges {
  readonly nodes: ReadonlyMap<string, NodeChange>;
  readonly edges: ReadonlyMap<string, EdgeChange>;
  readonly factChanges: readonly FactChange[];
  readonly conceptSources: readonly ConceptSource[];
}

/** `before` is what the reader gave; the two are the same object where nothing changed. */
export interface NodeChange {
  readonly before: NodeState | undefined;
  readonly after: NodeState;
}

export interface EdgeChange {
  readonly from: string;
  readonly type: string;
  readonly to: string;
  /** What the store holds goes first; without it the state merges into what is there. */
  readonly isReplaced: boolean;
  /** Undefined: nothing is left of it. */
  readonly state: EdgeState | undefined;
}

export interface FactChange extends ToldFact {
  readonly about: string;
}

/** Which session names a concept, and when first; without a time the session names it no more. A concept without any source is gone. */
export interface ConceptSource {
  readonly id: string;
  readonly session: string;
  readonly occurredAt: string | undefined;
}
