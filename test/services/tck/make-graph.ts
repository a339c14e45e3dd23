import type { Expression, PathPattern } from '../../../src/graph/cypher/ast.ts';
import type { GraphView, Neighbour } from '../../../src/graph/cypher/index.ts';
import { parseExpression, parseMap } from '../../../src/graph/cypher/parse-expression.ts';
import { parsePatterns } from '../../../src/graph/cypher/parse-pattern.ts';
import { parseQueryBody } from '../../../src/graph/cypher/parse-query.ts';
import { TokenReader } from '../../../src/graph/cypher/token-reader.ts';
import {
  CypherMap,
  type NodeValue,
  type RelationshipValue,
  type Value,
} from '../../../src/graph/cypher/values.ts';

/** The setup is more than CREATE with values that stand there. */
export class NotMade extends Error {}

/** What the CREATE clauses of a scenario make, as our evaluator sees a graph. */
export class MadeGraph implements GraphView {
  readonly #nodes: NodeValue[] = [];
  readonly #edges: RelationshipValue[] = [];

  /** Runs a setup; names are known to the end of it. */
  create(text: string): void {
    const reader = new TokenReader(text, {
      expression: parseExpression,
      map: parseMap,
      query: parseQueryBody,
    });
    const names = new Map<string, NodeValue>();
    while (reader.takeWord('CREATE'))
      for (const pattern of parsePatterns(reader)) this.#createPath(pattern, names);
    reader.takeSign(';');
    if (reader.peek().kind !== 'end') throw new NotMade(reader.peek().text);
  }

  nodes(label: string | undefined): Iterable<NodeValue> {
    return label === undefined
      ? this.#nodes
      : this.#nodes.filter(({ labels }) => labels.includes(label));
  }

  countNodes(label: string | undefined): number {
    return [...this.nodes(label)].length;
  }

  nodesById(): readonly NodeValue[] {
    return [];
  }

  neighbours(
    node: NodeValue,
    direction: 'out' | 'in' | 'both',
    types: readonly string[] | undefined,
  ): Iterable<Neighbour> {
    return this.#edges.flatMap((relationship): Neighbour[] => {
      const { from, to, type } = relationship;
      if (types !== undefined && !types.includes(type)) return [];
      if (direction !== 'in' && from === node) return [{ relationship, node: to }];
      return direction !== 'out' && to === node ? [{ relationship, node: from }] : [];
    });
  }

  #createPath(pattern: PathPattern, names: Map<string, NodeValue>): void {
    const nodes = pattern.nodes.map(({ variable, labels, properties }) => {
      const known = variable === undefined ? undefined : names.get(variable);
      if (known !== undefined) return known;
      const nid = this.#nodes.length + 1;
      const node: NodeValue = {
        kind: 'node',
        nid,
        id: String(nid),
        workspace: '',
        labels: namesIn(labels),
        properties: mapOf(properties),
      };
      this.#nodes.push(node);
      if (variable !== undefined) names.set(variable, node);
      return node;
    });
    for (const [at, { types, direction, properties }] of pattern.relationships.entries()) {
      const [left, right] = [nodes[at], nodes[at + 1]];
      const [type] = namesIn(types);
      if (left === undefined || right === undefined || type === undefined || direction === 'both')
        throw new NotMade('a relationship');
      const [from, to] = direction === 'out' ? [left, right] : [right, left];
      const key = String(this.#edges.length + 1);
      this.#edges.push({
        kind: 'relationship',
        from,
        type,
        to,
        properties: mapOf(properties),
        key,
      });
    }
  }
}

function namesIn(labels: PathPattern['nodes'][number]['labels']): readonly string[] {
  if (labels === undefined) return [];
  if (labels.kind === 'name') return [labels.name];
  if (labels.kind === 'and') return [...namesIn(labels.left), ...namesIn(labels.right)];
  throw new NotMade('labels');
}

function mapOf(properties: Expression | undefined): CypherMap {
  if (properties === undefined) return new CypherMap([]);
  const value = literal(properties);
  if (!(value instanceof CypherMap)) throw new NotMade('properties');
  return new CypherMap([...value.entries].filter(([, one]) => one !== null));
}

/** A value that is written out, as a graph of CREATE has them and as a scenario expects them. */
export function literal(expression: Expression): Value {
  switch (expression.kind) {
    case 'null':
      return null;
    case 'boolean':
    case 'integer':
    case 'float':
    case 'string':
      return expression.value;
    case 'list':
      return expression.items.map(literal);
    case 'map':
      return new CypherMap(expression.entries.map(({ key, value }) => [key, literal(value)]));
    case 'negate': {
      const value = literal(expression.of);
      if (typeof value === 'number' || typeof value === 'bigint') return -value;
      throw new NotMade('-');
    }
    default:
      throw new NotMade(expression.kind);
  }
}
