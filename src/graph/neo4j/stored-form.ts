import { canonicalJson, type JsonValue } from '#base';
import type { Properties, PropertyValue } from '../mutation.ts';
import { labelSource, visibleProperties, type EdgeState, type NodeState } from '../node-state.ts';
import { fromNative, toDateTime, toNative, type Native } from './values.ts';

/**
 * How states lie in Neo4j: labels and visible properties as they are, so that anybody can ask for them, and what they do not tell in one hidden
 * property, as canonical JSON. A node that its owner wrote and nobody derived anything for, which is nearly all of them, has none.
 */
export const hiddenProperty = '_millrace';
/** The label of all nodes of the graph, beside their own; never exported (D26). */
export const nodeLabel = 'Node';

/** Names that nodes use for themselves. */
const reservedNames: ReadonlySet<string> = new Set(['node_id', 'workspace', hiddenProperty]);

export type NativeProperties = Readonly<Record<string, Native>>;

/** What Neo4j keeps of a node beside workspace and id. */
export interface StoredForm {
  readonly labels: readonly string[];
  readonly properties: NativeProperties;
}

interface HiddenNode {
  readonly owner?: string | null;
  readonly stub?: true;
  /** Label → sources, where they are not all the owner's. */
  readonly labels?: Readonly<Record<string, number>>;
  readonly derived?: Properties;
  /** Of the derived names those that the owner wrote too. */
  readonly own?: readonly string[];
  /** What the owner wrote and Neo4j does not hold as it is. */
  readonly odd?: Properties;
}

export function nodeForm(id: string, state: NodeState): StoredForm {
  const visible = nativeProperties(visibleProperties(state), reservedNames);
  const hidden = hiddenOf(state, impliedOwner(id, visible), oddOf(state.properties, reservedNames));
  return {
    labels: [...state.labels.keys()],
    properties: withHidden(visible, hidden),
  };
}

/** The state of a node as the driver gave it. */
export function nodeState(
  id: string,
  labels: readonly string[],
  stored: Readonly<Record<string, unknown>>,
): NodeState {
  const hidden = readHidden<HiddenNode>(stored);
  const derived = hidden.derived ?? {};
  const own = new Set(hidden.own ?? []);
  const written = Object.entries(stored).filter(
    ([name]) => !reservedNames.has(name) && (!Object.hasOwn(derived, name) || own.has(name)),
  );
  const sources: readonly (readonly [string, number])[] =
    hidden.labels === undefined
      ? labels.filter((name) => name !== nodeLabel).map((name) => [name, labelSource.owner])
      : Object.entries(hidden.labels);
  return {
    owner: hidden.owner === undefined ? impliedOwner(id, stored) : hidden.owner,
    isWritten: hidden.stub !== true,
    labels: new Map(sources),
    properties: fromEntries(written, hidden.odd),
    derived,
  };
}

/** An edge's time stands among its properties, where queries look for it. */
export function edgeForm(state: EdgeState): NativeProperties {
  const own = nativeProperties(state.properties, reservedEdgeNames);
  const odd = oddOf(state.properties, reservedEdgeNames);
  const time = state.occurredAt === undefined ? undefined : toDateTime(state.occurredAt);
  const isOddTime = state.occurredAt !== undefined && time === undefined;
  const hidden: HiddenEdge = {
    ...(odd === undefined ? {} : { odd }),
    ...(isOddTime ? { time: state.occurredAt } : {}),
  };
  return withHidden(time === undefined ? own : { ...own, occurred_at: time }, hidden);
}

interface HiddenEdge {
  readonly odd?: Properties;
  readonly time?: string;
}

const reservedEdgeNames: ReadonlySet<string> = new Set(['occurred_at', hiddenProperty]);

export function edgeState(stored: Readonly<Record<string, unknown>>): EdgeState {
  const hidden = readHidden<HiddenEdge>(stored);
  const own = Object.entries(stored).filter(([name]) => !reservedEdgeNames.has(name));
  const time = Object.hasOwn(stored, 'occurred_at') ? fromNative(stored['occurred_at']) : undefined;
  return {
    properties: fromEntries(own, hidden.odd),
    occurredAt: isTime(time) ? time.$time : hidden.time,
  };
}

/** What makes one form into the other; a null takes a property away. Undefined where they are the same. */
export function formDifference(
  before: StoredForm,
  after: StoredForm,
):
  | {
      readonly set: Readonly<Record<string, Native | null>>;
      readonly add: readonly string[];
      readonly drop: readonly string[];
    }
  | undefined {
  const set: Record<string, Native | null> = Object.create(null) as Record<string, Native | null>;
  for (const name of Object.keys(before.properties))
    if (!Object.hasOwn(after.properties, name)) set[name] = null;
  for (const [name, value] of Object.entries(after.properties)) {
    const old = Object.hasOwn(before.properties, name) ? before.properties[name] : undefined;
    if (old === undefined || !isSame(old, value)) set[name] = value;
  }
  const add = after.labels.filter((label) => !before.labels.includes(label));
  const drop = before.labels.filter((label) => !after.labels.includes(label));
  const isEqual = Object.keys(set).length === 0 && add.length === 0 && drop.length === 0;
  return isEqual ? undefined : { set, add, drop };
}

function hiddenOf(state: NodeState, owner: string, odd: Properties | undefined): HiddenNode {
  const sources = [...state.labels];
  const isPlain = sources.every(
    ([name, source]) => source === labelSource.owner && name !== nodeLabel,
  );
  const derivedNames = Object.keys(state.derived);
  const own = derivedNames.filter((name) => Object.hasOwn(state.properties, name));
  return {
    ...(state.owner === owner ? {} : { owner: state.owner }),
    ...(state.isWritten ? {} : { stub: true as const }),
    ...(isPlain ? {} : { labels: Object.fromEntries(sources) }),
    ...(derivedNames.length === 0 ? {} : { derived: state.derived }),
    ...(own.length === 0 ? {} : { own }),
    ...(odd === undefined ? {} : { odd }),
  };
}

/** The owner of nearly all nodes: the session that they name, else the one whose id begins theirs. */
function impliedOwner(id: string, stored: Readonly<Record<string, unknown>>): string {
  const session = stored['session_id'];
  return typeof session === 'string' ? session : (id.split('::', 1)[0] ?? id);
}

function nativeProperties(properties: Properties, reserved: ReadonlySet<string>): NativeProperties {
  const entries = Object.entries(properties).flatMap(([name, value]): [string, Native][] => {
    if (!isName(name, reserved)) return [];
    return [[name, toNative(value) ?? shownInstead(value)]];
  });
  return Object.fromEntries(entries);
}

function oddOf(properties: Properties, reserved: ReadonlySet<string>): Properties | undefined {
  const odd = Object.entries(properties).filter(
    ([name, value]) => !isName(name, reserved) || toNative(value) === undefined,
  );
  return odd.length === 0 ? undefined : Object.fromEntries(odd);
}

function isName(name: string, reserved: ReadonlySet<string>): boolean {
  return (
    name !== '' &&
    name !== '__proto__' &&
    name.isWellFormed() &&
    !name.includes('\u0000') &&
    !reserved.has(name)
  );
}

/** What a query sees of a value that Neo4j cannot hold: of a mixed list the JSON of each, else the text. */
function shownInstead(value: PropertyValue): Native {
  if (typeof value === 'string') return value.toWellFormed();
  if (isTime(value)) return value.$time;
  if (Array.isArray(value)) return value.map((one) => JSON.stringify(one));
  return JSON.stringify(value);
}

function isTime(value: PropertyValue | undefined): value is { readonly $time: string } {
  return typeof value === 'object' && '$time' in value;
}

function withHidden(visible: NativeProperties, hidden: object): NativeProperties {
  if (Object.keys(hidden).length === 0) return visible;
  return { ...visible, [hiddenProperty]: canonicalJson(hidden as JsonValue) };
}

function readHidden<T>(stored: Readonly<Record<string, unknown>>): Partial<T> {
  const text = stored[hiddenProperty];
  return typeof text === 'string' ? (JSON.parse(text) as Partial<T>) : {};
}

function fromEntries(
  stored: readonly (readonly [string, unknown])[],
  odd: Properties | undefined,
): Properties {
  const entries = stored.map(([name, value]) => [name, fromNative(value)] as const);
  return Object.fromEntries([...entries, ...Object.entries(odd ?? {})]);
}

function isSame(a: Native, b: Native): boolean {
  if (typeof a !== 'object' || typeof b !== 'object') return a === b && typeof a === typeof b;
  return JSON.stringify(fromNative(a)) === JSON.stringify(fromNative(b));
}
