import { canonicalJson, isRawNumber, sha256Hex, type JsonObject, type JsonValue } from '#base';
import type { Mutation, Properties, PropertyValue } from '#graph';
import { jsonText } from './json-text.ts';
import { plainText } from './node-id.ts';
import type { DelegationNews, Draft, NodeDraft } from './occurrence.ts';

/** A value that was too large for the graph (D30): stored under its digest before the graph's transaction. */
export interface SpilledValue {
  /** SHA-256 of `bytes`, lower-case hex. */
  readonly sha256: string;
  /** The value's canonical JSON in UTF-8. */
  readonly bytes: Uint8Array;
  readonly mediaType: string;
}

const mediaType = 'application/json';
/** A UTF-16 unit becomes at most six bytes of JSON text, a `\u` escape. */
const bytesPerUnitMax = 6;
/** Of a number, `true`, `false` or `null`. */
const bytesPerPrimitiveMax = 32;

/** What is moved away while one record is folded; lives no longer than the fold (ING-521). */
export interface Spill {
  readonly limitBytes: number;
  readonly values: Map<string, SpilledValue>;
}

/** The value itself, or, where its JSON text is above the limit, the reference to it. */
function keepOrMove(value: JsonValue, spill: Spill): JsonValue {
  if (!mayExceed(value, spill.limitBytes)) return value;
  const bytes = Buffer.from(canonicalJson(value));
  if (bytes.length <= spill.limitBytes) return value;
  const sha256 = sha256Hex(bytes);
  spill.values.set(sha256, { sha256, bytes, mediaType });
  return { $object: { sha256, bytes: bytes.length, media_type: mediaType } };
}

/** A cheap upper bound first, and a nearer one where that is above the limit: hardly a value needs its canonical text. */
function mayExceed(value: JsonValue, limitBytes: number): boolean {
  if (roomAfter(value, limitBytes) >= 0) return false;
  return typeof value === 'string' || JSON.stringify(value).length * 3 > limitBytes;
}

/** What is left of `room` bytes behind the JSON text of `value` at its longest; below zero it may not fit. */
function roomAfter(value: JsonValue, room: number): number {
  if (typeof value === 'string') return room - value.length * bytesPerUnitMax - 2;
  if (value === null || typeof value !== 'object') return room - bytesPerPrimitiveMax;
  if (isRawNumber(value)) return room - value.rawJSON.length;
  let left = room - 2;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at += 1)
      left = roomAfter((value as readonly JsonValue[])[at] ?? null, left - 1);
    return left;
  }
  const members = value as JsonObject;
  for (const name in members) {
    if (left < 0) return left;
    left = roomAfter(members[name] ?? null, left - name.length * bytesPerUnitMax - 4);
  }
  return left;
}

/** `data` with each large member moved away, and then the whole if it is still too large (D30). */
export function spillData(data: JsonObject, spill: Spill): JsonValue {
  if (roomAfter(data, spill.limitBytes) >= 0) return data;
  const kept: Record<string, JsonValue> = {};
  for (const [member, value] of Object.entries(data)) {
    Object.defineProperty(kept, member, {
      value: keepOrMove(value, spill),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return keepOrMove(kept, spill);
}

/** Drafts as mutations: those of one node become one, values become storable, large ones are moved away. */
export function settle(owner: string, drafts: readonly Draft[], spill: Spill): readonly Mutation[] {
  const nodes = new Map<
    string,
    { labels: Set<string>; properties: Record<string, PropertyValue> }
  >();
  const mutations: Mutation[] = [];
  for (const draft of drafts) {
    if (draft.kind === 'delegation-news') {
      mutations.push(factOf(draft, spill));
      continue;
    }
    if (draft.kind !== 'draft') {
      mutations.push(draft);
      continue;
    }
    const node = nodes.get(draft.id) ?? { labels: new Set<string>(), properties: {} };
    nodes.set(draft.id, node);
    for (const label of draft.labels) node.labels.add(label);
    Object.assign(node.properties, propertiesOf(draft, spill));
  }
  const written = [...nodes].map(([id, { labels, properties }]): Mutation => ({
    kind: 'node',
    owner,
    id,
    labels: [...labels].sort(),
    properties,
  }));
  return [...written, ...mutations];
}

function factOf(news: DelegationNews, spill: Spill): Mutation {
  const { about, source, phase, node, occurredAt } = news;
  const properties = propertiesOf(node, spill);
  const fact = { type: 'delegation', delegation: node.id, phase, properties, occurredAt } as const;
  return { kind: 'fact', about, source, fact };
}

function propertiesOf(draft: NodeDraft, spill: Spill): Properties {
  const { times, values } = draft;
  const properties: Record<string, PropertyValue> = {};
  for (const name in times) {
    const canonical = times[name];
    if (canonical !== undefined) properties[name] = { $time: canonical };
  }
  for (const name in values) {
    const value = values[name];
    const property = value === undefined ? undefined : toProperty(value, spill);
    if (property !== undefined) properties[name] = property;
  }
  return properties;
}

/** Primitives and lists of one kind of primitive stay; all else becomes JSON text, as in the predecessor (4.12). */
function toProperty(given: JsonValue, spill: Spill): PropertyValue | undefined {
  if (given === null) return undefined;
  if (typeof given === 'boolean' || typeof given === 'number') return given;
  if (isRawNumber(given)) return given.rawJSON;
  const value = keepOrMove(given, spill);
  if (typeof value === 'string') return plainText(value);
  return isPrimitiveList(value) ? value.map(plainItem) : jsonText(value);
}

type Primitive = string | number | boolean;

function isPrimitiveList(value: JsonValue): value is readonly Primitive[] {
  if (!Array.isArray(value)) return false;
  const [first] = value as readonly JsonValue[];
  const type = typeof first;
  if (type !== 'string' && type !== 'number' && type !== 'boolean') return value.length === 0;
  return (value as readonly JsonValue[]).every((item) => typeof item === type);
}

function plainItem(item: Primitive): Primitive {
  return typeof item === 'string' ? plainText(item) : item;
}
