import type { Properties } from './mutation.ts';

/** Who a label comes from, as bits: each source can take back its own and no other's (ING-615). */
export const labelSource = { stub: 1, owner: 2, derived: 4, concept: 8 } as const;

/** A node as a store keeps it. What queries and export see is `visibleLabels` and `visibleProperties`. */
export interface NodeState {
  /** Session that owns it; null for a shared concept. */
  readonly owner: string | null;
  /** The owner wrote it: it is more than a stub. */
  readonly isWritten: boolean;
  /** Label → its sources; none is zero. */
  readonly labels: ReadonlyMap<string, number>;
  /** What the owner wrote. */
  readonly properties: Properties;
  /** What was derived, and a concept's name. The owner's word goes first. */
  readonly derived: Properties;
}

/** An edge between two nodes of one workspace. */
export interface EdgeState {
  readonly properties: Properties;
  readonly occurredAt: string | undefined;
}

/** Labels as queries and export see them, sorted. */
export function visibleLabels(state: NodeState): readonly string[] {
  return [...state.labels.keys()].sort();
}

export function visibleProperties(state: NodeState): Properties {
  return { ...state.derived, ...state.properties };
}
