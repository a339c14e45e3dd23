import { canonicalJson, type JsonValue } from '#base';
import { conceptLabels, conceptProperties, type Concept } from './concept.ts';
import type { NodeMutation, Properties } from './mutation.ts';
import { labelSource, type EdgeState, type NodeState } from './node-state.ts';

/**
 * Merge rules (ING-615), for both stores. Writes of the owner follow its log; all others are idempotent and commute with everything, so the
 * order between keys does not matter (P12). A state that would not change is returned as it is.
 */

/** The owner's write: takes the place of stubs, drops, unites labels, patches properties. Null never comes here, so it never erases. */
export function mergeOwned(state: NodeState | undefined, mutation: NodeMutation): NodeState {
  const labels = new Map(state?.labels);
  if (state?.isWritten !== true) takeBack(labels, labels.keys(), labelSource.stub);
  takeBack(labels, mutation.drop?.labels ?? [], labelSource.owner);
  addTo(labels, mutation.labels, labelSource.owner);
  return {
    owner: mutation.owner,
    isWritten: true,
    labels,
    properties: patched(state?.properties ?? {}, mutation),
    derived: state?.derived ?? {},
  };
}

/** Makes sure that the node is there. Stubs unite; once the owner wrote they add nothing. */
export function mergeStub(
  state: NodeState | undefined,
  owner: string | null,
  labels: readonly string[],
): NodeState {
  if (state === undefined) {
    const united = new Map<string, number>();
    addTo(united, labels, labelSource.stub);
    return { owner, isWritten: false, labels: united, properties: {}, derived: {} };
  }
  const isCovered =
    state.isWritten || labels.every((label) => hasSource(state, label, labelSource.stub));
  if (isCovered) return state;
  const united = new Map(state.labels);
  addTo(united, labels, labelSource.stub);
  return copyOf(state, { labels: united });
}

/** A concept is whole from its first mention on. */
export function mergeConcept(state: NodeState | undefined, concept: Concept): NodeState {
  const names = conceptLabels(concept);
  if (state !== undefined && names.every((name) => hasSource(state, name, labelSource.concept)))
    return state;
  const labels = new Map(state?.labels);
  addTo(labels, names, labelSource.concept);
  return {
    owner: state?.owner ?? null,
    isWritten: state?.isWritten ?? false,
    labels,
    properties: state?.properties ?? {},
    derived: { ...state?.derived, ...conceptProperties(concept) },
  };
}

/** Puts derived labels and properties in the place of the former ones: what no longer holds is gone. */
export function mergeDerived(
  state: NodeState,
  derived: { readonly labels: readonly string[]; readonly properties: Properties },
): NodeState {
  const labels = new Map(state.labels);
  takeBack(labels, [...labels.keys()], labelSource.derived);
  addTo(labels, derived.labels, labelSource.derived);
  return copyOf(state, { labels, derived: derived.properties });
}

/** One edge per (from, type, to): the earliest time, and of properties that should be constant the smaller text, whoever came first. */
export function mergeEdge(state: EdgeState | undefined, added: EdgeState): EdgeState {
  if (state === undefined) return added;
  const times = [state.occurredAt, added.occurredAt].filter((time) => time !== undefined).sort();
  const isSmaller = compareTexts(added.properties, state.properties) < 0;
  return {
    properties: isSmaller ? added.properties : state.properties,
    occurredAt: times[0],
  };
}

/** As UTF-8 bytes, like a database compares. */
function compareTexts(a: Properties, b: Properties): number {
  if (a === b) return 0;
  return Buffer.compare(Buffer.from(propertiesText(a)), Buffer.from(propertiesText(b)));
}

/** The one text of a map of properties (RFC 8785). */
export function propertiesText(properties: Properties): string {
  return canonicalJson(properties as JsonValue);
}

/** Member by member: a state from a store may be an object that reads its members when they are asked for, which a spread would lose. */
function copyOf(
  state: NodeState,
  changed: Partial<Pick<NodeState, 'labels' | 'derived'>>,
): NodeState {
  return {
    owner: state.owner,
    isWritten: state.isWritten,
    labels: changed.labels ?? state.labels,
    properties: state.properties,
    derived: changed.derived ?? state.derived,
  };
}

function patched(before: Properties, mutation: NodeMutation): Properties {
  const dropped = mutation.drop?.properties ?? [];
  const kept =
    dropped.length === 0
      ? before
      : Object.fromEntries(Object.entries(before).filter(([name]) => !dropped.includes(name)));
  return { ...kept, ...mutation.properties };
}

function hasSource(state: NodeState, label: string, source: number): boolean {
  return ((state.labels.get(label) ?? 0) & source) !== 0;
}

function addTo(labels: Map<string, number>, names: readonly string[], source: number): void {
  for (const name of names) labels.set(name, (labels.get(name) ?? 0) | source);
}

function takeBack(labels: Map<string, number>, names: Iterable<string>, source: number): void {
  for (const name of names) {
    const left = (labels.get(name) ?? 0) & ~source;
    if (left === 0) labels.delete(name);
    else labels.set(name, left);
  }
}
