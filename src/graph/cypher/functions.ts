import { equals } from './compare.ts';
import { Duration } from './duration.ts';
import { Instant } from './instant.ts';
import { bounded, floatText, type Fail } from './operators.ts';
import {
  CypherMap,
  isList,
  isNode,
  isRelationship,
  kindOf,
  PathValue,
  type Value,
} from './values.ts';
import { durationBetween, toDuration, toInstant, truncated } from './time-functions.ts';

/** One function of the language: how many arguments it takes, and what it makes of them. */
export interface CypherFunction {
  readonly least: number;
  readonly most: number;
  /** With a null among its arguments it is null, and is not called. */
  readonly isStrict: boolean;
  /** `now`: one moment for the whole query. */
  call(values: readonly Value[], fail: Fail, now: Instant): Value;
}

type Call = CypherFunction['call'];

function strict(least: number, call: Call, most: number = least): CypherFunction {
  return { least, most, isStrict: true, call };
}

function lenient(least: number, most: number, call: Call): CypherFunction {
  return { least, most, isStrict: false, call };
}

const text = (call: (value: string) => Value): CypherFunction =>
  strict(1, ([value = null], fail) => call(asText(value, fail)));

const float = (call: (value: number) => number): CypherFunction =>
  strict(1, ([value = null], fail) => call(asNumber(value, fail)));

type Convert = (value: Value, fail: Fail) => Value;

/** What a conversion refuses is thrown, so that the forms which give null instead can tell it from a defect. */
class Refusal extends Error {}

/** `…OrNull` gives null for what cannot be converted, `…List` converts each element so. */
function leniently(name: string, convert: Convert): Readonly<Record<string, CypherFunction>> {
  const orNull = (value: Value): Value => {
    try {
      return convert(value, (reason) => {
        throw new Refusal(reason);
      });
    } catch (error) {
      if (error instanceof Refusal) return null;
      throw error;
    }
  };
  return {
    [`${name}ornull`]: lenient(1, 1, ([value = null]) => orNull(value)),
    [`${name}list`]: strict(1, ([value = null], fail) => asList(value, fail).map(orNull)),
  };
}

/** Elements a range may have. */
const rangeMax = 1_000_000;

/** The clock under the names that Neo4j has for it. */
const clocks = Object.fromEntries(
  ['transaction', 'statement', 'realtime'].flatMap((clock) => [
    [`datetime.${clock}`, strict(0, (_values, _fail, now) => now)],
    [`date.${clock}`, strict(0, (_values, fail, now) => toInstant(now, false, fail))],
  ]),
);

/** Functions by their names in lower case; aggregates stand in aggregates.ts. */
export const functions: Readonly<Record<string, CypherFunction>> = {
  coalesce: lenient(1, 100, (values) => values.find((value) => value !== null) ?? null),
  nullif: lenient(2, 2, ([a = null, b = null]) => (equals(a, b) === true ? null : a)),
  exists: lenient(1, 1, ([value = null]) => value !== null),
  id: strict(1, ([value = null], fail) => BigInt(asNode(value, fail).nid)),
  elementid: strict(1, ([value = null], fail) => {
    if (isRelationship(value)) return value.key;
    return String(asNode(value, fail).nid);
  }),
  labels: strict(1, ([value = null], fail) => asNode(value, fail).labels),
  type: strict(1, ([value = null], fail) => asRelationship(value, fail).type),
  startnode: strict(1, ([value = null], fail) => asRelationship(value, fail).from),
  endnode: strict(1, ([value = null], fail) => asRelationship(value, fail).to),
  properties: strict(1, ([value = null], fail) => asMap(value, fail)),
  // Those of a node or an edge are sorted, since no store keeps an order of them.
  keys: strict(1, ([value = null], fail) => {
    const keys = [...asMap(value, fail).entries.keys()];
    return isNode(value) || isRelationship(value) ? keys.sort() : keys;
  }),
  nodes: strict(1, ([value = null], fail) => asPath(value, fail).nodes),
  relationships: strict(1, ([value = null], fail) => asPath(value, fail).relationships),
  length: strict(1, ([value = null], fail) => {
    if (value instanceof PathValue) return BigInt(value.relationships.length);
    return fail(`length() takes a path, and this is ${kindOf(value)}; use size()`);
  }),
  size: strict(1, ([value = null], fail) => {
    if (isList(value)) return BigInt(value.length);
    return BigInt(Array.from(asText(value, fail)).length);
  }),
  isempty: strict(1, ([value = null], fail) => {
    if (isList(value)) return value.length === 0;
    if (value instanceof CypherMap) return value.entries.size === 0;
    return asText(value, fail) === '';
  }),
  head: strict(1, ([value = null], fail) => asList(value, fail)[0] ?? null),
  last: strict(1, ([value = null], fail) => asList(value, fail).at(-1) ?? null),
  tail: strict(1, ([value = null], fail) => asList(value, fail).slice(1)),
  reverse: strict(1, ([value = null], fail) => {
    if (isList(value)) return value.toReversed();
    return Array.from(asText(value, fail)).reverse().join('');
  }),
  range: strict(2, range, 3),
  tostring: lenient(1, 1, ([value = null], fail) => toText(value, fail)),
  tointeger: lenient(1, 1, ([value = null], fail) => toInteger(value, fail)),
  tofloat: lenient(1, 1, ([value = null], fail) => toFloat(value, fail)),
  toboolean: lenient(1, 1, ([value = null], fail) => toBoolean(value, fail)),
  ...leniently('tointeger', toInteger),
  ...leniently('tofloat', toFloat),
  ...leniently('toboolean', toBoolean),
  ...leniently('tostring', toText),
  toupper: text((value) => value.toUpperCase()),
  upper: text((value) => value.toUpperCase()),
  tolower: text((value) => value.toLowerCase()),
  lower: text((value) => value.toLowerCase()),
  trim: text((value) => value.trim()),
  btrim: text((value) => value.trim()),
  ltrim: text((value) => value.trimStart()),
  rtrim: text((value) => value.trimEnd()),
  char_length: text((value) => BigInt(Array.from(value).length)),
  left: strict(2, ([value = null, count = null], fail) =>
    Array.from(asText(value, fail)).slice(0, asCount(count, fail)).join(''),
  ),
  right: strict(2, ([value = null, count = null], fail) => {
    const letters = Array.from(asText(value, fail));
    return letters.slice(Math.max(0, letters.length - asCount(count, fail))).join('');
  }),
  substring: strict(
    2,
    ([value = null, start = null, length], fail) => {
      const from = asCount(start, fail);
      const to = length === undefined ? undefined : from + asCount(length, fail);
      return Array.from(asText(value, fail)).slice(from, to).join('');
    },
    3,
  ),
  replace: strict(3, ([value = null, search = null, other = null], fail) =>
    asText(value, fail).replaceAll(asText(search, fail), () => asText(other, fail)),
  ),
  split: strict(2, ([value = null, separator = null], fail) =>
    asText(value, fail).split(asText(separator, fail)),
  ),
  abs: strict(1, ([value = null], fail) => {
    if (typeof value === 'bigint') return value < 0n ? bounded(-value, fail) : value;
    return Math.abs(asNumber(value, fail));
  }),
  sign: float((value) => Math.sign(value)),
  ceil: float(Math.ceil),
  floor: float(Math.floor),
  round: strict(
    1,
    ([value = null, digits = 0n], fail) => {
      const factor = 10 ** asCount(digits, fail);
      return Math.floor(asNumber(value, fail) * factor + 0.5) / factor;
    },
    2,
  ),
  sqrt: float(Math.sqrt),
  exp: float(Math.exp),
  log: float(Math.log),
  log10: float(Math.log10),
  sin: float(Math.sin),
  cos: float(Math.cos),
  tan: float(Math.tan),
  asin: float(Math.asin),
  acos: float(Math.acos),
  atan: float(Math.atan),
  atan2: strict(2, ([y = null, x = null], fail) =>
    Math.atan2(asNumber(y, fail), asNumber(x, fail)),
  ),
  degrees: float((value) => (value * 180) / Math.PI),
  radians: float((value) => (value / 180) * Math.PI),
  isnan: strict(1, ([value = null], fail) => Number.isNaN(asNumber(value, fail))),
  pi: strict(0, () => Math.PI),
  e: strict(0, () => Math.E),
  datetime: strict(0, ([value], fail, now) => toInstant(value ?? now, true, fail), 1),
  date: strict(0, ([value], fail, now) => toInstant(value ?? now, false, fail), 1),
  ...clocks,
  timestamp: strict(0, (_values, _fail, now) => now.member('epochMillis') ?? null),
  'datetime.fromepochmillis': strict(
    1,
    ([ms = null], fail) => new Instant(asInteger(ms, fail) * 1_000_000n, true),
  ),
  'datetime.fromepoch': strict(
    2,
    ([seconds = null, nanos = null], fail) =>
      new Instant(asInteger(seconds, fail) * 1_000_000_000n + asInteger(nanos, fail), true),
  ),
  'datetime.truncate': strict(2, (values, fail) => truncated(values, true, fail), 3),
  'date.truncate': strict(2, (values, fail) => truncated(values, false, fail), 3),
  duration: strict(1, ([value = null], fail) => toDuration(value, fail)),
  'duration.between': strict(2, (values, fail) => durationBetween('all', values, fail)),
  'duration.inmonths': strict(2, (values, fail) => durationBetween('months', values, fail)),
  'duration.indays': strict(2, (values, fail) => durationBetween('days', values, fail)),
  'duration.inseconds': strict(2, (values, fail) => durationBetween('seconds', values, fail)),
};

function asInteger(value: Value, fail: Fail): bigint {
  return typeof value === 'bigint'
    ? value
    : fail(`an integer is expected, and this is ${kindOf(value)}`);
}

function range(values: readonly Value[], fail: Fail): Value {
  const [first = 0n, last = 0n, step = 1n] = values.map((value) => {
    if (typeof value === 'bigint') return value;
    return fail(`range() takes integers, and this is ${kindOf(value)}`);
  });
  if (step === 0n) return fail('the step of range() is not 0');
  const count = (last - first) / step + 1n;
  if (count > BigInt(rangeMax)) return fail(`range() gives at most ${rangeMax} elements`);
  const list: bigint[] = [];
  for (let one = first; step > 0n ? one <= last : one >= last; one += step) list.push(one);
  return list;
}

function toText(value: Value, fail: Fail): Value {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return floatText(value);
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (value instanceof Instant || value instanceof Duration) return value.text;
  return fail(`toString() takes no ${kindOf(value).replace(/^an? /, '')}`);
}

function toInteger(value: Value, fail: Fail): Value {
  if (value === null || typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'string') {
    if (/^[+-]?\d+$/.test(value)) return bounded(BigInt(value), fail);
    // As in Neo4j spaces around it are no part of an integer, though they may stand around a float.
    const number = /^\s|\s$/.test(value) ? Number.NaN : Number(value);
    return value === '' || !Number.isFinite(number) ? null : BigInt(Math.trunc(number));
  }
  if (typeof value === 'number')
    return Number.isFinite(value) ? bounded(BigInt(Math.trunc(value)), fail) : null;
  return fail(`toInteger() takes no ${kindOf(value).replace(/^an? /, '')}`);
}

function toFloat(value: Value, fail: Fail): Value {
  if (value === null || typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'string') {
    const trimmed = value.trim();
    const number = Number(trimmed);
    return trimmed === '' || Number.isNaN(number) ? null : number;
  }
  return fail(`toFloat() takes no ${kindOf(value).replace(/^an? /, '')}`);
}

function toBoolean(value: Value, fail: Fail): Value {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return value !== 0n;
  if (typeof value === 'string') {
    const word = value.trim().toLowerCase();
    return word === 'true' ? true : word === 'false' ? false : null;
  }
  return fail(`toBoolean() takes no ${kindOf(value).replace(/^an? /, '')}`);
}

function asText(value: Value, fail: Fail): string {
  return typeof value === 'string'
    ? value
    : fail(`a string is expected, and this is ${kindOf(value)}`);
}

function asNumber(value: Value, fail: Fail): number {
  if (typeof value === 'bigint' || typeof value === 'number') return Number(value);
  return fail(`a number is expected, and this is ${kindOf(value)}`);
}

function asCount(value: Value, fail: Fail): number {
  if (typeof value === 'bigint' && value >= 0n) return Number(value);
  return fail(`an integer of 0 or more is expected, and this is ${kindOf(value)}`);
}

function asList(value: Value, fail: Fail): readonly Value[] {
  return isList(value) ? value : fail(`a list is expected, and this is ${kindOf(value)}`);
}

function asNode(value: Value, fail: Fail): Extract<Value, { readonly kind: 'node' }> {
  return isNode(value) ? value : fail(`a node is expected, and this is ${kindOf(value)}`);
}

function asRelationship(
  value: Value,
  fail: Fail,
): Extract<Value, { readonly kind: 'relationship' }> {
  return isRelationship(value)
    ? value
    : fail(`a relationship is expected, and this is ${kindOf(value)}`);
}

function asPath(value: Value, fail: Fail): PathValue {
  return value instanceof PathValue
    ? value
    : fail(`a path is expected, and this is ${kindOf(value)}`);
}

function asMap(value: Value, fail: Fail): CypherMap {
  if (value instanceof CypherMap) return value;
  if (isNode(value) || isRelationship(value)) return value.properties;
  return fail(`a map, node or relationship is expected, and this is ${kindOf(value)}`);
}

/** Functions of Cypher that are not part of the subset, in lower case, and how to say it otherwise: what stands before a dot. */
export const refusedFunctions: Readonly<Record<string, string>> = {
  localdatetime: 'times are in UTC: say datetime()',
  localtime: 'times are in UTC: say datetime()',
  time: 'say datetime(), and of one its members hour, minute, second',
  rand: 'a query has one answer: order by a property',
  randomuuid: 'a query has one answer: take node_id',
  valuetype: 'the properties of a label are of one type each: docs/graph.md tells them',
  point: 'the graph has no places',
  apoc: 'a query is Cypher alone, so that both stores answer it',
};
