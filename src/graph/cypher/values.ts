import { Duration } from './duration.ts';
import { Instant } from './instant.ts';

/**
 * Values while a query runs: integers are bigint, floats number, so that 5 / 2 and 5.0 / 2 differ as Cypher wants. A map keeps the order in
 * which its keys came.
 */
export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Instant
  | Duration
  | readonly Value[]
  | CypherMap
  | NodeValue
  | RelationshipValue
  | PathValue;

export class CypherMap {
  readonly #given: Iterable<readonly [string, Value]>;
  #entries: ReadonlyMap<string, Value> | undefined;

  constructor(entries: Iterable<readonly [string, Value]>) {
    this.#given = entries;
  }

  get entries(): ReadonlyMap<string, Value> {
    this.#entries ??= new Map(this.#given);
    return this.#entries;
  }

  get(key: string): Value {
    return this.entries.get(key) ?? null;
  }
}

/** Properties as a store holds them: JSON, of which only the value that is asked for is made. `more` goes before it. */
export class StoredMap extends CypherMap {
  readonly #json: Readonly<Record<string, unknown>>;
  readonly #more: ReadonlyMap<string, Value>;

  constructor(json: Readonly<Record<string, unknown>>, more: ReadonlyMap<string, Value>) {
    super(storedEntries(json, more));
    this.#json = json;
    this.#more = more;
  }

  override get(key: string): Value {
    const more = this.#more.get(key);
    if (more !== undefined) return more;
    return Object.hasOwn(this.#json, key) ? valueOf(this.#json[key]) : null;
  }
}

function* storedEntries(
  json: Readonly<Record<string, unknown>>,
  more: ReadonlyMap<string, Value>,
): Generator<readonly [string, Value]> {
  for (const [name, value] of Object.entries(json)) yield [name, valueOf(value)];
  yield* more;
}

/** A node of the graph; what it holds is read when it is asked for. */
export interface NodeValue {
  readonly kind: 'node';
  /** Number within the store, by which two are told apart. */
  readonly nid: number;
  readonly id: string;
  readonly workspace: string;
  readonly labels: readonly string[];
  readonly properties: CypherMap;
}

/** One edge per (from, type, to). */
export interface RelationshipValue {
  readonly kind: 'relationship';
  readonly from: NodeValue;
  readonly type: string;
  readonly to: NodeValue;
  readonly properties: CypherMap;
  /** Tells it from any other. */
  readonly key: string;
}

export class PathValue {
  readonly kind = 'path' as const;
  /** One more than relationships. */
  readonly nodes: readonly NodeValue[];
  readonly relationships: readonly RelationshipValue[];

  constructor(nodes: readonly NodeValue[], relationships: readonly RelationshipValue[]) {
    this.nodes = nodes;
    this.relationships = relationships;
  }
}

export function isNode(value: Value): value is NodeValue {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'node';
}

export function isRelationship(value: Value): value is RelationshipValue {
  return (
    typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'relationship'
  );
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** As it is called in errors. */
export function kindOf(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'bigint') return 'an integer';
  if (typeof value === 'number') return 'a float';
  if (typeof value === 'string') return 'a string';
  if (typeof value === 'boolean') return 'a boolean';
  if (isList(value)) return 'a list';
  if (value instanceof Instant) return value.hasTime ? 'a datetime' : 'a date';
  if (value instanceof Duration) return 'a duration';
  if (value instanceof CypherMap) return 'a map';
  return `a ${value.kind}`;
}

/** A stored property or a parameter: whole numbers are integers; `{"$time": …}` is a datetime. */
export function valueOf(json: unknown): Value {
  if (json === null || json === undefined) return null;
  if (typeof json === 'number') return Number.isInteger(json) ? BigInt(json) : json;
  if (typeof json === 'boolean' || typeof json === 'string') return json;
  if (Array.isArray(json)) return json.map(valueOf);
  const entries = Object.entries(json as Readonly<Record<string, unknown>>);
  const [first] = entries;
  if (entries.length === 1 && first?.[0] === '$time' && typeof first[1] === 'string')
    return Instant.parse(first[1]) ?? first[1];
  return new CypherMap(entries.map(([key, value]) => [key, valueOf(value)]));
}

/** As it is answered: integers beyond 2^53 and numbers that JSON lacks as text. */
export function jsonOf(value: Value): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'bigint') return isSafe(value) ? Number(value) : String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (isList(value)) return value.map(jsonOf);
  if (value instanceof Instant || value instanceof Duration) return value.text;
  if (value instanceof CypherMap) return mapJson(value);
  if (value.kind === 'node') {
    const { id, workspace, labels, properties } = value;
    return { id, workspace, labels, properties: mapJson(properties) };
  }
  if (value.kind === 'relationship') {
    const { from, type, to, properties } = value;
    return { from: from.id, type, to: to.id, properties: mapJson(properties) };
  }
  return { nodes: value.nodes.map(jsonOf), relationships: value.relationships.map(jsonOf) };
}

function mapJson(map: CypherMap): Record<string, unknown> {
  return Object.fromEntries([...map.entries].map(([key, value]) => [key, jsonOf(value)]));
}

function isSafe(value: bigint): boolean {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= BigInt(Number.MIN_SAFE_INTEGER);
}
