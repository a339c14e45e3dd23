import type { LabelExpression, NodePattern, PathPattern, RelationshipPattern } from './ast.ts';
import type { TokenReader } from './token-reader.ts';

/** Relationships that one variable length may walk (docs/cypher.md). */
export const lengthMax = 15;

/** `p = (a)-[:X]->(b)`, comma-separated. */
export function parsePatterns(reader: TokenReader): readonly PathPattern[] {
  const patterns = [parseNamedPath(reader)];
  while (reader.takeSign(',')) patterns.push(parseNamedPath(reader));
  return patterns;
}

function parseNamedPath(reader: TokenReader): PathPattern {
  const { at } = reader.peek();
  const isNamed = reader.isSign('=', 1);
  const variable = isNamed ? reader.needName('the name of a path') : undefined;
  if (isNamed) reader.needSign('=', 'behind the name of a path');
  refuseSelectors(reader);
  const search = searchAhead(reader);
  if (search === undefined) return { ...parsePath(reader), at, variable };
  reader.take();
  reader.needSign('(', 'behind shortestPath');
  const path = parsePath(reader);
  reader.needSign(')', 'at the end of shortestPath');
  return { ...checkedSearch(reader, path, search), at, variable };
}

function refuseSelectors(reader: TokenReader): void {
  const { at } = reader.peek();
  const isSelector =
    reader.isWord('SHORTEST') ||
    reader.isWord('ANY') ||
    reader.isWord('ALL', 'SHORTEST') ||
    reader.isWord('ALL', 'PATHS');
  if (isSelector && !reader.isSign('(', 1))
    throw reader.unsupported(at, 'a path selector', 'say shortestPath((a)-[*..15]-(b))');
}

/** Whether `shortestPath(` or `allShortestPaths(` comes next. */
export function searchAhead(reader: TokenReader): PathPattern['search'] | undefined {
  if (!reader.isSign('(', 1)) return undefined;
  if (reader.isWord('SHORTESTPATH')) return 'shortest';
  if (reader.isWord('ALLSHORTESTPATHS')) return 'all-shortest';
  return undefined;
}

/** A shortest path runs between two nodes, along one relationship pattern. */
export function checkedSearch(
  reader: TokenReader,
  path: PathPattern,
  search: PathPattern['search'],
): PathPattern {
  if (path.relationships.length !== 1)
    throw reader.invalid(path.at, 'a shortest path has one relationship between two nodes');
  return { ...path, search };
}

/** Nodes and relationships in turn; begins and ends with a node. */
export function parsePath(reader: TokenReader): PathPattern {
  const { at } = reader.peek();
  const nodes = [parseNode(reader)];
  const relationships: RelationshipPattern[] = [];
  while (isRelationshipAhead(reader)) {
    relationships.push(quantified(reader, parseRelationship(reader)));
    nodes.push(parseNode(reader));
  }
  return { at, variable: undefined, search: 'all', nodes, relationships };
}

export function isRelationshipAhead(reader: TokenReader): boolean {
  return ['-', '--', '<-', '->'].some((sign) => reader.isSign(sign));
}

function parseNode(reader: TokenReader): NodePattern {
  const { at } = reader.needSign('(', 'at the begin of a node');
  if (reader.isSign('('))
    throw reader.unsupported(at, 'a quantified path', 'say -[:TYPE*1..3]-> for a path of one type');
  const variable = optionalName(reader);
  const labels = reader.takeWord('IS') ? parseLabelOr(reader) : parseLabels(reader);
  const properties = parseProperties(reader);
  const where = reader.takeWord('WHERE') ? reader.grammar.expression(reader) : undefined;
  reader.needSign(')', 'at the end of a node');
  return { at, variable, labels, properties, where };
}

function optionalName(reader: TokenReader): string | undefined {
  const { kind } = reader.peek();
  const isName = kind === 'quoted' || (kind === 'word' && !isWhere(reader));
  return isName ? reader.needName('a name') : undefined;
}

/** `(WHERE …)` is a condition; a node named `where` is written in backticks. */
function isWhere(reader: TokenReader): boolean {
  return reader.isWord('WHERE') && !reader.isSign(')', 1) && !reader.isSign(':', 1);
}

/** `-[r:TYPE*1..3 {p: 1}]->`, with the arrow on either side, on none, or on both, which means none. */
function parseRelationship(reader: TokenReader): RelationshipPattern {
  const { at } = reader.peek();
  const isLeft = reader.takeSign('<-');
  const isPlain = !isLeft && reader.takeSign('--');
  if (isPlain) return bare(at, reader.takeSign('>') ? 'out' : 'both');
  if (isLeft && reader.takeSign('-')) return bare(at, reader.takeSign('>') ? 'both' : 'in');
  if (isLeft && reader.takeSign('->')) return bare(at, 'both');
  if (!isLeft) reader.needSign('-', 'at the begin of a relationship');
  if (!isLeft && reader.takeSign('->')) return bare(at, 'out');
  reader.needSign('[', 'in a relationship');
  const variable = optionalName(reader);
  const types = reader.takeWord('IS') ? parseLabelOr(reader) : parseLabels(reader);
  const length = reader.isSign('*') ? parseLength(reader) : undefined;
  const properties = parseProperties(reader);
  const where = reader.takeWord('WHERE') ? reader.grammar.expression(reader) : undefined;
  reader.needSign(']', 'at the end of a relationship');
  const isRight = reader.takeSign('->');
  if (!isRight) reader.needSign('-', 'behind a relationship');
  const direction = isLeft === isRight ? 'both' : isLeft ? 'in' : 'out';
  return { at, variable, types, direction, length, properties, where };
}

/** `-[:TYPE]->{1,3}`: the newer way to say `*1..3`. */
function quantified(reader: TokenReader, relationship: RelationshipPattern): RelationshipPattern {
  const { at } = reader.peek();
  if (reader.isSign('+') || reader.isSign('*'))
    throw reader.unsupported(at, 'a path of any length', `say {1,${lengthMax}}`);
  if (!reader.takeSign('{')) return relationship;
  if (relationship.length !== undefined || relationship.where !== undefined)
    throw reader.unsupported(
      at,
      'a quantifier here',
      'say -[r:TYPE*1..3]-> and WHERE all(x IN r …)',
    );
  const min = parseBound(reader);
  const max = reader.takeSign(',') ? parseBound(reader) : min;
  reader.needSign('}', 'behind the bounds of a path');
  if (max === undefined)
    throw reader.unsupported(at, 'a path of any length', `say {1,${lengthMax}}`);
  return { ...relationship, length: checkLength(reader, at, min ?? 0, max) };
}

function bare(at: number, direction: RelationshipPattern['direction']): RelationshipPattern {
  return {
    at,
    variable: undefined,
    types: undefined,
    direction,
    length: undefined,
    properties: undefined,
    where: undefined,
  };
}

/** `*`, `*2`, `*1..`, `*..3`, `*1..3`: an upper bound there must be, and at most 15. */
function parseLength(reader: TokenReader): { readonly min: number; readonly max: number } {
  const { at } = reader.needSign('*', 'at a length');
  const first = parseBound(reader);
  if (!reader.takeSign('..') && first !== undefined) return checkLength(reader, at, first, first);
  const last = parseBound(reader);
  if (last === undefined)
    throw reader.unsupported(
      at,
      'a path of any length',
      `give it an upper bound of at most ${lengthMax}: *1..${lengthMax}`,
    );
  return checkLength(reader, at, first ?? 1, last);
}

function parseBound(reader: TokenReader): number | undefined {
  return reader.peek().kind === 'integer' ? Number(reader.take().text) : undefined;
}

function checkLength(
  reader: TokenReader,
  at: number,
  min: number,
  max: number,
): { readonly min: number; readonly max: number } {
  if (max > lengthMax)
    throw reader.unsupported(
      at,
      `a path of ${max} relationships`,
      `at most ${lengthMax} are walked`,
    );
  return { min, max };
}

/** `:A`, `:A:B`, `:A|B`, `:A&!B`; undefined where there is none. */
export function parseLabels(reader: TokenReader): LabelExpression | undefined {
  if (!reader.takeSign(':')) return undefined;
  let labels = parseLabelOr(reader);
  while (reader.takeSign(':')) labels = { kind: 'and', left: labels, right: parseLabelOr(reader) };
  return labels;
}

function parseLabelOr(reader: TokenReader): LabelExpression {
  let left = parseLabelAnd(reader);
  while (!reader.isBarTaken && reader.takeSign('|')) {
    reader.takeSign(':');
    left = { kind: 'or', left, right: parseLabelAnd(reader) };
  }
  return left;
}

function parseLabelAnd(reader: TokenReader): LabelExpression {
  let left = parseLabelAtom(reader);
  while (reader.takeSign('&')) left = { kind: 'and', left, right: parseLabelAtom(reader) };
  return left;
}

function parseLabelAtom(reader: TokenReader): LabelExpression {
  if (reader.takeSign('!')) return { kind: 'not', of: reader.deeper(() => parseLabelAtom(reader)) };
  if (reader.takeSign('%')) return { kind: 'any' };
  if (reader.takeSign('(')) {
    const inner = reader.withBar(false, () => reader.deeper(() => parseLabelOr(reader)));
    reader.needSign(')', 'behind labels');
    return inner;
  }
  return { kind: 'name', name: reader.needName('a label or type') };
}

function parseProperties(reader: TokenReader): NodePattern['properties'] {
  if (reader.isSign('{')) return reader.grammar.map(reader);
  if (reader.peek().kind !== 'parameter') return undefined;
  const { text, at } = reader.take();
  return { kind: 'parameter', name: text, at };
}
