import neo4j, {
  type DateTime,
  type Duration,
  type Node,
  type Path,
  type Relationship,
} from 'neo4j-driver';
import { shownProperties } from '../canonical.ts';
import { durationText } from '../cypher/index.ts';
import { visibleLabels, visibleProperties } from '../node-state.ts';
import { edgeState, hiddenProperty, nodeState } from './stored-form.ts';
import { timeOf, toDateTime } from './values.ts';

/** A parameter of a caller: whole numbers are integers; `{"$time": …}` is a datetime. */
export function parameterOf(json: unknown): unknown {
  if (typeof json === 'number') return Number.isInteger(json) ? BigInt(json) : json;
  if (Array.isArray(json)) return json.map(parameterOf);
  if (typeof json !== 'object' || json === null) return json;
  const entries = Object.entries(json as Readonly<Record<string, unknown>>);
  const [first] = entries;
  if (entries.length === 1 && first?.[0] === '$time' && typeof first[1] === 'string')
    return toDateTime(first[1]) ?? first[1];
  return Object.fromEntries(entries.map(([key, value]) => [key, parameterOf(value)]));
}

/** Ends of relationships come as ids of the server; ours are looked up for all of an answer at once. */
export class EndIds {
  readonly #known = new Map<string, string>();
  readonly #wanted = new Set<string>();

  want(id: string): void {
    if (!this.#known.has(id)) this.#wanted.add(id);
  }

  know(id: string, nodeId: string): void {
    this.#known.set(id, nodeId);
    this.#wanted.delete(id);
  }

  get missing(): readonly string[] {
    return [...this.#wanted];
  }

  of(id: string): string | null {
    return this.#known.get(id) ?? null;
  }
}

/** Notes of a value which ends must be known before it can be shown. */
export function collectEnds(value: unknown, ends: EndIds): void {
  if (Array.isArray(value)) for (const one of value) collectEnds(one, ends);
  else if (isNode(value)) noteNode(value, ends);
  else if (isRelationship(value)) {
    ends.want(value.startNodeElementId);
    ends.want(value.endNodeElementId);
  } else if (isPath(value)) for (const node of nodesOf(value)) noteNode(node, ends);
  else if (isPlainMap(value)) for (const one of Object.values(value)) collectEnds(one, ends);
}

/** As it is answered (docs/cypher.md), the same as by the embedded store. */
export function answerOf(value: unknown, ends: EndIds): unknown {
  if (typeof value === 'bigint') return isSafe(value) ? Number(value) : String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (Array.isArray(value)) return value.map((one) => answerOf(one, ends));
  if (neo4j.isDuration(value)) {
    const { months, days, seconds, nanoseconds } = value as unknown as Duration<bigint>;
    return durationText(months, days, seconds, nanoseconds);
  }
  if (neo4j.isDateTime(value)) return timeOf(value as unknown as DateTime<bigint>);
  if (isNode(value)) return nodeAnswer(value);
  if (isRelationship(value)) return relationshipAnswer(value, ends);
  if (isPath(value)) {
    const relationships = value.segments.map(({ relationship }) =>
      relationshipAnswer(relationship, ends),
    );
    return { nodes: nodesOf(value).map(nodeAnswer), relationships };
  }
  if (isPlainMap(value)) return mapAnswer(value, ends);
  return String(value as { toString(): string });
}

function nodeAnswer({ labels, properties }: AnyNode): unknown {
  const { node_id: id, workspace } = properties;
  const state = nodeState(String(id), labels, properties);
  return {
    id,
    workspace,
    labels: visibleLabels(state),
    properties: { ...shownProperties(visibleProperties(state)), node_id: id, workspace },
  };
}

function relationshipAnswer(relationship: AnyRelationship, ends: EndIds): unknown {
  const { startNodeElementId, endNodeElementId, type, properties } = relationship;
  const state = edgeState(properties);
  const time = state.occurredAt === undefined ? {} : { occurred_at: state.occurredAt };
  return {
    from: ends.of(startNodeElementId),
    type,
    to: ends.of(endNodeElementId),
    properties: { ...shownProperties(state.properties), ...time },
  };
}

function mapAnswer(map: Readonly<Record<string, unknown>>, ends: EndIds): unknown {
  const shown = Object.entries(map).filter(([key]) => key !== hiddenProperty);
  return Object.fromEntries(shown.map(([key, value]) => [key, answerOf(value, ends)]));
}

type AnyNode = Node<bigint, Record<string, unknown>>;
type AnyRelationship = Relationship<bigint, Record<string, unknown>>;
type AnyPath = Path<bigint>;

function isNode(value: unknown): value is AnyNode {
  return neo4j.isNode(value as object);
}

function isRelationship(value: unknown): value is AnyRelationship {
  return neo4j.isRelationship(value as object);
}

function isPath(value: unknown): value is AnyPath {
  return neo4j.isPath(value as object);
}

function nodesOf({ start, segments }: AnyPath): readonly AnyNode[] {
  return [start, ...segments.map(({ end }) => end)] as readonly AnyNode[];
}

function noteNode({ elementId, properties }: AnyNode, ends: EndIds): void {
  ends.know(elementId, String(properties['node_id']));
}

function isPlainMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  );
}

function isSafe(value: bigint): boolean {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= BigInt(Number.MIN_SAFE_INTEGER);
}
