import { canonicalJson, type JsonValue } from '#base';
import type { ConceptSource, EdgeChange, GroupChanges, NodeChange } from '../group-changes.ts';
import { mergeEdge, propertiesText } from '../merge-node.ts';
import type { EdgeState } from '../node-state.ts';
import { edgeForm, formDifference, nodeForm, nodeLabel } from './stored-form.ts';

/** One statement with its parameters. What it is made of never stands in the text, so that the server's plan is made once. */
export interface Statement {
  readonly text: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** A statement that must meet each of its rows (ING-612); `written` in its answer tells how many it met. */
export interface WriteStatement extends Statement {
  /** Undefined: rows that are not there are none's concern. */
  readonly rows: number | undefined;
}

export interface BatchLimits {
  readonly rows: number;
  /** Estimate: two bytes for each character, eight for any other value. */
  readonly bytes: number;
}

export const batchLimits: BatchLimits = { rows: 2_000, bytes: 4 * 2 ** 20 };

export function statement(
  text: string,
  parameters: Readonly<Record<string, unknown>> = {},
): Statement {
  return { text, parameters };
}

/** Cuts the rows of an `UNWIND $rows` so that no statement is larger than a server likes (ING-853). */
export function inBatches<R extends object>(
  rows: readonly R[],
  limits: BatchLimits = batchLimits,
): readonly (readonly R[])[] {
  const cut: R[][] = [];
  let bytes = 0;
  let current: R[] = [];
  for (const row of rows) {
    const size = sizeOf(row);
    const isFull = current.length >= limits.rows || bytes + size > limits.bytes;
    if (current.length > 0 && isFull) {
      cut.push(current);
      current = [];
      bytes = 0;
    }
    current.push(row);
    bytes += size;
  }
  if (current.length > 0) cut.push(current);
  return cut;
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 8 + 2 * value.length;
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + sizeOf(one), 8);
  if (typeof value !== 'object' || value === null) return 8;
  let sum = 8;
  for (const [name, member] of Object.entries(value)) sum += 2 * name.length + sizeOf(member);
  return sum;
}

/** A text that names several things, none of which it can be confused with. */
export function joined(...parts: readonly string[]): string {
  return parts.join('\u0000');
}

const matchNode = `MATCH (n:${nodeLabel} {workspace: r.w, node_id: r.id})`;
const matchEnds = `MATCH (a:${nodeLabel} {workspace: r.w, node_id: r.from}) MATCH (b:${nodeLabel} {workspace: r.w, node_id: r.to})`;

const createNodes = `UNWIND $rows AS r
CREATE (n:${nodeLabel} {workspace: r.w, node_id: r.id}) SET n += r.properties SET n:$(r.labels)
RETURN count(*) AS written`;

const updateNodes = `UNWIND $rows AS r
${matchNode} SET n += r.properties SET n:$(r.add) REMOVE n:$(r.drop)
RETURN count(*) AS written`;

const createEdges = `UNWIND $rows AS r
${matchEnds} CREATE (a)-[e:$(r.type)]->(b) SET e += r.properties
RETURN count(*) AS written`;

const updateEdges = `UNWIND $rows AS r
${matchEnds} MATCH (a)-[e:$(r.type)]->(b) SET e = r.properties
RETURN count(*) AS written`;

const deleteEdges = `UNWIND $rows AS r
${matchEnds} MATCH (a)-[e:$(r.type)]->(b) DELETE e`;

const writeFacts = `UNWIND $rows AS r
MERGE (f:MillraceFact {key: r.key}) SET f.about = r.about, f.source = r.source, f.fact = r.fact
RETURN count(*) AS written`;

const writeSources = `UNWIND $rows AS r
MERGE (s:MillraceSource {key: r.key})
ON CREATE SET s.concept = r.concept, s.occurred_at = r.time
ON MATCH SET s.occurred_at = CASE WHEN r.time < s.occurred_at THEN r.time ELSE s.occurred_at END
RETURN count(*) AS written`;

const deleteSources = `UNWIND $rows AS r
MATCH (s:MillraceSource {key: r.key}) DELETE s`;

const deleteUnnamed = `UNWIND $rows AS r
${matchNode} WHERE NOT EXISTS { MATCH (s:MillraceSource {concept: r.concept}) }
DETACH DELETE n`;

/** An edge by its place, and its state once all that is known of it is merged. */
interface PlannedEdge {
  readonly change: EdgeChange;
  readonly stored: EdgeState | undefined;
  readonly state: EdgeState | undefined;
}

/**
 * What carries out the changes of a group in one workspace: nodes before edges, ids sorted, so that two transactions rarely wait for each other
 * in a circle. `edges`: the state of those that were there, by `edgeKey`.
 */
export function statementsFor(
  workspace: string,
  changes: GroupChanges,
  edges: ReadonlyMap<string, EdgeState>,
): readonly WriteStatement[] {
  const planned = [...changes.edges.values()]
    .map((change) => planEdge(workspace, change, edges))
    .toSorted(byPlace);
  return [
    ...nodeStatements(workspace, changes.nodes),
    ...edgeStatements(workspace, planned),
    ...factStatements(workspace, changes.factChanges),
    ...sourceStatements(workspace, changes.conceptSources),
  ];
}

export function edgeKey(workspace: string, edge: Pick<EdgeChange, 'from' | 'type' | 'to'>): string {
  return joined(workspace, edge.from, edge.type, edge.to);
}

function planEdge(
  workspace: string,
  change: EdgeChange,
  edges: ReadonlyMap<string, EdgeState>,
): PlannedEdge {
  const stored = change.isReplaced ? undefined : edges.get(edgeKey(workspace, change));
  const state = change.state === undefined ? undefined : mergeEdge(stored, change.state);
  return { change, stored, state };
}

function byPlace(a: PlannedEdge, b: PlannedEdge): number {
  const [x, y] = [a, b].map(({ change }) => joined(change.from, change.to, change.type));
  return (x ?? '') < (y ?? '') ? -1 : 1;
}

function nodeStatements(
  w: string,
  nodes: ReadonlyMap<string, NodeChange>,
): readonly WriteStatement[] {
  const sorted = [...nodes].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const created = sorted.flatMap(([id, { before, after }]) =>
    before === undefined ? [{ w, id, ...nodeForm(id, after) }] : [],
  );
  const updated = sorted.flatMap(([id, { before, after }]) => {
    if (before === undefined || before === after) return [];
    const difference = formDifference(nodeForm(id, before), nodeForm(id, after));
    if (difference === undefined) return [];
    return [{ w, id, properties: difference.set, add: difference.add, drop: difference.drop }];
  });
  return [...writing(createNodes, created), ...writing(updateNodes, updated)];
}

function edgeStatements(w: string, planned: readonly PlannedEdge[]): readonly WriteStatement[] {
  const deleted = planned.filter(({ change }) => change.isReplaced).map(placeOf);
  const created = planned.flatMap((edge) =>
    edge.state === undefined || edge.stored !== undefined
      ? []
      : [{ ...placeOf(edge), properties: edgeForm(edge.state) }],
  );
  const updated = planned.flatMap((edge) => {
    const { stored, state } = edge;
    if (state === undefined || stored === undefined || isSameEdge(stored, state)) return [];
    return [{ ...placeOf(edge), properties: edgeForm(state) }];
  });
  return [
    ...clearing(deleteEdges, deleted),
    ...writing(createEdges, created),
    ...writing(updateEdges, updated),
  ];

  function placeOf({ change: { from, type, to } }: PlannedEdge): {
    readonly w: string;
    readonly from: string;
    readonly type: string;
    readonly to: string;
  } {
    return { w, from, type, to };
  }
}

function factStatements(
  workspace: string,
  facts: GroupChanges['factChanges'],
): readonly WriteStatement[] {
  const rows = facts.map(({ about, source, fact }) => ({
    key: joined(workspace, about, source, fact.type),
    about: joined(workspace, about),
    source,
    fact: canonicalJson(fact as JsonValue),
  }));
  return writing(writeFacts, rows.toSorted(byKey));
}

/** Those who name a concept come first, so that one which passes from one session to another is not gone in between. */
function sourceStatements(w: string, sources: readonly ConceptSource[]): readonly WriteStatement[] {
  const rows = sources.map(({ id, session, occurredAt }) => ({
    w,
    id,
    key: joined(w, id, session),
    concept: joined(w, id),
    time: occurredAt ?? null,
  }));
  const named = rows.filter(({ time }) => time !== null).toSorted(byKey);
  const gone = rows.filter(({ time }) => time === null).toSorted(byKey);
  return [
    ...writing(writeSources, named),
    ...clearing(deleteSources, gone),
    ...clearing(deleteUnnamed, gone),
  ];
}

function byKey(a: { readonly key: string }, b: { readonly key: string }): number {
  return a.key < b.key ? -1 : 1;
}

function writing(text: string, rows: readonly object[]): readonly WriteStatement[] {
  return inBatches(rows).map((batch) => ({
    text,
    parameters: { rows: batch },
    rows: batch.length,
  }));
}

function clearing(text: string, rows: readonly object[]): readonly WriteStatement[] {
  return inBatches(rows).map((batch) => ({ text, parameters: { rows: batch }, rows: undefined }));
}

function isSameEdge(a: EdgeState, b: EdgeState): boolean {
  return (
    a.occurredAt === b.occurredAt && propertiesText(a.properties) === propertiesText(b.properties)
  );
}
