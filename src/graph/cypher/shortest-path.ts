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

/** Breadth first from one end: none, one, or with `isAll` every path of the least length. */
export function* shortestPaths(plan: ShortestPlan, row: Row, run: Run): Generator<Row> {
  const [from, to] = [row[plan.from] ?? null, row[plan.to] ?? null];
  if (!isNode(from) || !isNode(to)) return;
  if (plan.length.min === 0 && from.nid === to.nid) {
    yield bound(plan, row, new PathValue([from], []));
    return;
  }
  const end = search(plan, row, run, from, to);
  if (end === undefined) return;
  for (const path of pathsTo(end)) {
    yield bound(plan, row, path);
    if (!plan.isAll) return;
  }
}

function search(
  plan: ShortestPlan,
  row: Row,
  run: Run,
  from: NodeValue,
  to: NodeValue,
): Reached | undefined {
  const start: Reached = { node: from, by: [], depth: 0 };
  // A path back to where it began is one too, so the begin itself is not yet reached.
  const reached = new Map<number, Reached>();
  let level: readonly Reached[] = [start];
  for (let depth = 1; depth <= plan.length.max && level.length > 0; depth += 1) {
    const next: Reached[] = [];
    for (const one of level) {
      for (const { relationship, node } of run.view.neighbours(
        one.node,
        plan.direction,
        plan.types,
      )) {
        run.budget.tick();
        if (!plan.each(relationship, row, run)) continue;
        const known = reached.get(node.nid);
        if (known === undefined) {
          const found: Reached = { node, by: [{ from: one, relationship }], depth };
          run.budget.hold();
          reached.set(node.nid, found);
          next.push(found);
        } else if (plan.isAll && known.depth === depth) known.by.push({ from: one, relationship });
      }
    }
    const end = reached.get(to.nid);
    if (end !== undefined) return end;
    level = next;
  }
  return undefined;
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
