import type { RelationshipTest, Row, Run } from './scope.ts';
import { isNode, PathValue, type NodeValue, type RelationshipValue, type Value } from './values.ts';
import type { Direction } from './view.ts';

/** A path to be found between two nodes that are bound. */
export interface ShortestPlan {
  readonly from: number;
  readonly to: number;
  readonly path: number;
  /** Slot of the list of its relationships. */
  readonly relationships: number;
  readonly direction: Direction;
  readonly types: readonly string[] | undefined;
  readonly each: RelationshipTest;
  readonly length: { readonly min: number; readonly max: number };
  readonly isAll: boolean;
}

interface Reached {
  readonly node: NodeValue;
  /** How it was reached first: one step for `shortest`, all of the same length for `all-shortest`. */
  readonly by: { readonly from: Reached; readonly relationship: RelationshipValue }[];
  readonly depth: number;
}

/**
 * Breadth first from one end: none, one, or with `isAll` every path of the least length. Rows that differ in the other end alone share one search,
 * which goes as far as the farthest of them asks.
 */
export class ShortestPaths {
  readonly #plan: ShortestPlan;
  readonly #last = new WeakMap<Run, Search>();

  constructor(plan: ShortestPlan) {
    this.#plan = plan;
  }

  *of(row: Row, run: Run): Generator<Row> {
    const plan = this.#plan;
    const [from, to] = [row[plan.from] ?? null, row[plan.to] ?? null];
    if (!isNode(from) || !isNode(to)) return;
    if (plan.length.min === 0 && from.nid === to.nid) {
      yield bound(plan, row, new PathValue([from], []));
      return;
    }
    const end = this.#search(from, row, run).reach(to, run);
    if (end === undefined) return;
    for (const path of pathsTo(end)) {
      yield bound(plan, row, path);
      if (!plan.isAll) return;
    }
  }

  #search(from: NodeValue, row: Row, run: Run): Search {
    const last = this.#last.get(run);
    if (last?.isOf(row) === true) return last;
    last?.end(run);
    const search = new Search(this.#plan, from, row);
    this.#last.set(run, search);
    return search;
  }
}

class Search {
  readonly #plan: ShortestPlan;
  readonly #row: Row;
  /** A path back to where it began is one too, so the begin itself is not yet reached. */
  readonly #reached = new Map<number, Reached>();
  #level: readonly Reached[];
  #depth = 0;

  constructor(plan: ShortestPlan, from: NodeValue, row: Row) {
    this.#plan = plan;
    this.#row = row;
    this.#level = [{ node: from, by: [], depth: 0 }];
  }

  /** What is asked of each relationship may look at all of the row. */
  isOf(row: Row): boolean {
    const { to, path, relationships } = this.#plan;
    const other = new Set([to, path, relationships]);
    return row.every((value, at) => other.has(at) || value === this.#row[at]);
  }

  reach(to: NodeValue, run: Run): Reached | undefined {
    for (;;) {
      const end = this.#reached.get(to.nid);
      if (end !== undefined) return end;
      if (this.#depth >= this.#plan.length.max || this.#level.length === 0) return undefined;
      this.#deepen(run);
    }
  }

  end(run: Run): void {
    run.budget.release(this.#reached.size);
  }

  #deepen(run: Run): void {
    const { direction, types, each, isAll } = this.#plan;
    this.#depth += 1;
    const depth = this.#depth;
    const next: Reached[] = [];
    for (const one of this.#level)
      for (const { relationship, node } of run.view.neighbours(one.node, direction, types)) {
        run.budget.tick();
        if (!each(relationship, this.#row, run)) continue;
        const known = this.#reached.get(node.nid);
        if (known === undefined) {
          const found: Reached = { node, by: [{ from: one, relationship }], depth };
          run.budget.hold();
          this.#reached.set(node.nid, found);
          next.push(found);
        } else if (isAll && known.depth === depth) known.by.push({ from: one, relationship });
      }
    this.#level = next;
  }
}

function* pathsTo(end: Reached): Generator<PathValue> {
  if (end.depth === 0) {
    yield new PathValue([end.node], []);
    return;
  }
  for (const { from, relationship } of end.by)
    for (const { nodes, relationships } of pathsTo(from))
      yield new PathValue([...nodes, end.node], [...relationships, relationship]);
}

function bound(plan: ShortestPlan, row: Row, path: PathValue): Row {
  const next: Value[] = row.slice();
  next[plan.path] = path;
  next[plan.relationships] = path.relationships;
  return next;
}
