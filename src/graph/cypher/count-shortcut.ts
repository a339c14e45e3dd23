import type { Expression, MatchClause, PathPattern, Projection, SingleQuery } from './ast.ts';
import type { GraphView } from './view.ts';

/** A count that a store may know without a look at each node or relationship; undefined at a run where it does not. */
export type CountShortcut = (view: GraphView) => bigint | undefined;

/** `MATCH (n:Label) RETURN count(n)`, `MATCH ()-[r:TYPE]->() RETURN count(*)`: nothing asks what any of them holds. */
export function countShortcut({ clauses }: SingleQuery): CountShortcut | undefined {
  const [match, last, ...more] = clauses;
  if (match?.kind !== 'match' || last?.kind !== 'return' || more.length > 0) return undefined;
  const pattern = onlyPattern(match);
  if (pattern === undefined || !countsAll(last.projection, pattern)) return undefined;
  return pattern.relationships.length === 0 ? ofNodes(pattern) : ofRelationships(pattern);
}

function onlyPattern({ isOptional, where, patterns }: MatchClause): PathPattern | undefined {
  const [pattern, ...others] = patterns;
  if (pattern === undefined || isOptional || where !== undefined || others.length > 0)
    return undefined;
  const parts = [...pattern.nodes, ...pattern.relationships];
  const isBare = parts.every((part) => part.where === undefined && part.properties === undefined);
  const names = parts.flatMap(({ variable }) => variable ?? []);
  const isPlain = pattern.variable === undefined && new Set(names).size === names.length;
  return isBare && isPlain && pattern.search === 'all' ? pattern : undefined;
}

/** One column that is a count of what is matched, which is never null. */
function countsAll(projection: Projection, { nodes, relationships }: PathPattern): boolean {
  const { items, orderBy, skip, limit, isDistinct, hasAll } = projection;
  const [item, ...others] = items;
  if (item === undefined || others.length > 0 || isDistinct || hasAll) return false;
  if (orderBy.length > 0 || skip !== undefined || limit !== undefined) return false;
  const names = [...nodes, ...relationships].map(({ variable }) => variable);
  return isCount(item.expression, names);
}

function isCount(expression: Expression, names: readonly (string | undefined)[]): boolean {
  if (expression.kind === 'count-all') return true;
  if (expression.kind !== 'call' || expression.name !== 'count' || expression.isDistinct)
    return false;
  const [counted] = expression.arguments;
  return counted?.kind === 'variable' && names.includes(counted.name);
}

function ofNodes({ nodes }: PathPattern): CountShortcut | undefined {
  const labels = nodes[0]?.labels;
  if (labels !== undefined && labels.kind !== 'name') return undefined;
  return (view) => toBigint(view.exactCount?.('nodes', labels?.name));
}

function ofRelationships({ nodes, relationships }: PathPattern): CountShortcut | undefined {
  const [relationship, ...others] = relationships;
  if (relationship === undefined || others.length > 0) return undefined;
  const { types, direction, length } = relationship;
  if (direction === 'both' || length !== undefined) return undefined;
  if (nodes.some(({ labels }) => labels !== undefined)) return undefined;
  if (types !== undefined && types.kind !== 'name') return undefined;
  return (view) => toBigint(view.exactCount?.('relationships', types?.name));
}

function toBigint(count: number | undefined): bigint | undefined {
  return count === undefined ? undefined : BigInt(count);
}
