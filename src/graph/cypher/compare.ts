import { Duration } from './duration.ts';
import { Instant } from './instant.ts';
import { CypherMap, isList, type Value } from './values.ts';

/** Three-valued: null where a null makes it unknown. */
export function equals(a: Value, b: Value): boolean | null {
  if (a === null || b === null) return null;
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b) === 0;
  if (isList(a) && isList(b)) return a.length === b.length ? equalLists(a, b) : false;
  if (a instanceof CypherMap && b instanceof CypherMap) return equalMaps(a, b);
  return keyOf(a) === keyOf(b);
}

function equalLists(a: readonly Value[], b: readonly Value[]): boolean | null {
  let isUnknown = false;
  for (const [at, one] of a.entries()) {
    const same = equals(one, b[at] ?? null);
    if (same === false) return false;
    if (same === null) isUnknown = true;
  }
  return isUnknown ? null : true;
}

function equalMaps(a: CypherMap, b: CypherMap): boolean | null {
  const keys = [...a.entries.keys()];
  if (keys.length !== b.entries.size || !keys.every((key) => b.entries.has(key))) return false;
  return equalLists(
    keys.map((key) => a.get(key)),
    keys.map((key) => b.get(key)),
  );
}

/** `<` and its like: null between kinds that have no order. Negative, zero or positive else; NaN is neither. */
export function compare(a: Value, b: Value): number | null {
  if (a === null || b === null) return null;
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Instant && b instanceof Instant)
    return a.hasTime === b.hasTime ? compareWhole(a.nanos, b.nanos) : null;
  if (isList(a) && isList(b)) {
    for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
      const [one, other] = [a[at] ?? null, b[at] ?? null];
      // Equal values need no order among their kind.
      const order = equals(one, other) === true ? 0 : compare(one, other);
      if (order !== 0) return order;
    }
    return a.length - b.length;
  }
  if (a instanceof CypherMap && b instanceof CypherMap)
    return hasNull(a) || hasNull(b) ? null : orderMaps(a, b);
  // Of nodes and edges only this much can be told.
  const isOfGraph = typeof a === 'object' && 'kind' in a;
  return isOfGraph && equals(a, b) === true ? 0 : null;
}

function hasNull({ entries }: CypherMap): boolean {
  return [...entries.values()].includes(null);
}

/** Order of kinds in ORDER BY, as Neo4j has it; null is the greatest. */
const ranks = {
  map: 0,
  node: 1,
  relationship: 2,
  list: 3,
  path: 4,
  datetime: 5,
  date: 6,
  duration: 7,
  string: 8,
  boolean: 9,
  number: 10,
  null: 11,
} as const;

/** A total order over all values, for ORDER BY, min and max. */
export function order(a: Value, b: Value): number {
  const [rankA, rankB] = [rankOf(a), rankOf(b)];
  if (rankA !== rankB) return rankA - rankB;
  if (a === null || b === null) return 0;
  if (isNumber(a) && isNumber(b)) return orderNumbers(a, b);
  if (isList(a) && isList(b)) {
    for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
      const one = order(a[at] ?? null, b[at] ?? null);
      if (one !== 0) return one;
    }
    return a.length - b.length;
  }
  if (a instanceof CypherMap && b instanceof CypherMap) return orderMaps(a, b);
  if (a instanceof Duration && b instanceof Duration)
    return compareWhole(a.averageNanos, b.averageNanos);
  return compare(a, b) ?? compareTexts(keyOf(a), keyOf(b));
}

/** The smaller one first, then by their keys, then by their values. */
function orderMaps(a: CypherMap, b: CypherMap): number {
  if (a.entries.size !== b.entries.size) return a.entries.size - b.entries.size;
  const [keys, others] = [a, b].map(({ entries }) => [...entries.keys()].sort(compareTexts));
  for (const [at, key] of (keys ?? []).entries()) {
    const one = compareTexts(key, others?.[at] ?? '');
    if (one !== 0) return one;
  }
  for (const key of keys ?? []) {
    const one = order(a.get(key), b.get(key));
    if (one !== 0) return one;
  }
  return 0;
}

function rankOf(value: Value): number {
  if (value === null) return ranks.null;
  if (typeof value === 'string') return ranks.string;
  if (typeof value === 'boolean') return ranks.boolean;
  if (isNumber(value)) return ranks.number;
  if (isList(value)) return ranks.list;
  if (value instanceof Instant) return value.hasTime ? ranks.datetime : ranks.date;
  if (value instanceof Duration) return ranks.duration;
  return value instanceof CypherMap ? ranks.map : ranks[value.kind];
}

function isNumber(value: Value): value is bigint | number {
  return typeof value === 'bigint' || typeof value === 'number';
}

/** Exact between integers and floats; NaN for NaN. */
function compareNumbers(a: bigint | number, b: bigint | number): number {
  if (typeof a === 'bigint' && typeof b === 'bigint') return compareWhole(a, b);
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.NaN;
  // JavaScript compares bigint and number by their mathematical values.
  return a < b ? -1 : a > b ? 1 : 0;
}

/** NaN stands above all other numbers. */
function orderNumbers(a: bigint | number, b: bigint | number): number {
  const [isNanA, isNanB] = [Number.isNaN(a), Number.isNaN(b)];
  return isNanA || isNanB ? Number(isNanA) - Number(isNanB) : compareNumbers(a, b);
}

function compareWhole(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** By code point, as UTF-8 bytes sort: a store that compares in UTF-16 would disagree above U+FFFF. */
function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [one, other] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (one === other) continue;
    // A surrogate is half of a character above U+FFFF.
    const areSurrogates = [isSurrogate(one), isSurrogate(other)];
    return areSurrogates[0] === areSurrogates[1] ? one - other : areSurrogates[0] ? 1 : -1;
  }
  return a.length - b.length;
}

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff;
}

/** One text per value: two values have the same exactly when DISTINCT and grouping take them for one. */
export function keyOf(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return `#${value}`;
  if (typeof value === 'number') return Number.isInteger(value) ? `#${BigInt(value)}` : `#${value}`;
  if (isList(value)) return `[${value.map(keyOf).join(',')}]`;
  if (value instanceof Instant) return `@${value.text}`;
  if (value instanceof Duration) return `~${value.text}`;
  if (value instanceof CypherMap) {
    const entries = [...value.entries].map(([key, one]) => `${JSON.stringify(key)}:${keyOf(one)}`);
    return `{${entries.sort().join(',')}}`;
  }
  if (value.kind === 'node') return `(${value.nid})`;
  if (value.kind === 'relationship') return `-${value.key}-`;
  return `<${[...value.nodes, ...value.relationships].map(keyOf).join('')}>`;
}
