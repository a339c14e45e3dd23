import type { NodeValue, RelationshipValue } from './values.ts';

export type Direction = 'out' | 'in' | 'both';

export interface Neighbour {
  readonly relationship: RelationshipValue;
  readonly node: NodeValue;
}

/** A condition that a store can look at by itself. */
export interface WantedText {
  readonly property: string;
  readonly text: string;
  passed(nodes: number): void;
}

/** What a query may see of a graph: the workspaces of its caller and nothing else, at one instant. Nodes of one id are one object or equal ones. */
export interface GraphView {
  /**
   * All nodes, or those with a label. `wanted`: nodes whose property is something else than this text may be left out, and `passed` is told how many
   * were looked at for that, since none of them comes out.
   */
  nodes(label: string | undefined, wanted?: WantedText): Iterable<NodeValue>;
  /** How many `nodes` gives, or more; to begin at the smaller end. */
  countNodes(label: string | undefined): number;
  /** How many there are, of a label or type or all; undefined where the store would have to look at each, as `nodes` does. */
  exactCount?(of: 'nodes' | 'relationships', name: string | undefined): number | undefined;
  /** The nodes of this id, one per workspace. */
  nodesById(id: string): readonly NodeValue[];
  /** `types` undefined: all. A loop comes once. */
  neighbours(
    node: NodeValue,
    direction: Direction,
    types: readonly string[] | undefined,
  ): Iterable<Neighbour>;
}

/** What a run may use up, and when it must stop. */
export interface Budget {
  /** Called for each step of the work; throws when the time is over or nobody waits any more. */
  tick(steps?: number): void;
  /** Called for each row that is held in memory; throws above the bound. */
  hold(): void;
  /** So many of them are held no longer. */
  release(rows: number): void;
  /** Called for what expressions make: elements of lists, and texts by eight characters; throws above the bound, and when the time is over. */
  made(cells: number): void;
  /** The next row is read: what was made of the last one is held only where a row was. */
  fresh(): void;
  /** Between these an expression goes over a list, so rows that are read within it free nothing. */
  enter(): void;
  leave(): void;
}
