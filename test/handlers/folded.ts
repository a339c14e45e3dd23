import type { JsonObject, JsonValue } from '#base';
import { fold, type Folded } from '#handlers';
import { emptyCursor, type Cursor } from '#record';
import { ReferenceGraph } from './reference-graph.ts';
import { deepFreeze, recordOf, spillBytes } from './sample-events.ts';

export type EventSpec = readonly [
  event: string,
  data?: Readonly<Record<string, JsonValue>>,
  more?: JsonObject,
];

/** Bodies of one session, a second apart unless an event brings its own timestamp. */
export function bodies(session: string, events: readonly EventSpec[]): readonly JsonObject[] {
  return events.map(([event, data, more], at) => ({
    event,
    workspace: 'w',
    ...more,
    data: { session_id: session, timestamp: timeOf(at), ...data },
  }));
}

export function timeOf(second: number): string {
  return new Date(Date.UTC(2026, 6, 20, 9, 0, second)).toISOString();
}

export function canonicalTimeOf(second: number): { readonly $time: string } {
  return { $time: `${timeOf(second).slice(0, -1)}000000Z` };
}

export interface FoldedSession {
  readonly cursor: Cursor;
  readonly steps: readonly Folded[];
  readonly nodes: ReturnType<ReferenceGraph['read']>['nodes'];
  readonly edges: ReturnType<ReferenceGraph['read']>['edges'];
}

/** Folds the events of one session from an empty cursor. */
export function foldSession(
  events: readonly EventSpec[],
  session = 's',
  limit: number = spillBytes,
): FoldedSession {
  const graph = new ReferenceGraph();
  const steps: Folded[] = [];
  let cursor = emptyCursor();
  for (const body of bodies(session, events)) {
    const folded = fold(deepFreeze(cursor), recordOf(body), { spillBytes: limit });
    graph.apply(folded.mutations);
    steps.push(folded);
    ({ cursor } = folded);
  }
  return { cursor, steps, ...graph.read() };
}

export function propertiesOf(folded: FoldedSession, id: string): Record<string, unknown> {
  return Object.fromEntries(folded.nodes.get(id)?.properties ?? []);
}

export function labelsOf(folded: FoldedSession, id: string): readonly string[] {
  return [...(folded.nodes.get(id)?.labels ?? [])].sort();
}

/** `from TYPE to` of every edge of these types, sorted. */
export function edgesOf(folded: FoldedSession, ...types: readonly string[]): readonly string[] {
  return [...folded.edges.keys()]
    .filter((key) => types.includes(key.split('\n')[1] ?? ''))
    .map((key) => key.replaceAll('\n', ' '))
    .sort();
}
