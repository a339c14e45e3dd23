import { isMillraceError, type JsonObject } from '#base';
import type { FencePermit } from '#fence';
import type { EdgeMutation, FactMutation, GraphStore, Mutation, SessionFact } from '#graph';
import type { GroupPart, NodeMutation, Properties, StubMutation } from '#graph';
import { stepAt } from '../../support/graph-fixtures.ts';
import { testKey, testPermit, testWorkspace } from '../../support/queue-fixtures.ts';

/** A place with one graph in it, for one check. */
export interface GraphHarness {
  /** Opens the graph of this place; the first time it is made. */
  open(options?: { readonly rootId?: string }): Promise<GraphStore>;
  /** Closes what is open and opens it again. */
  reopen(options?: { readonly rootId?: string }): Promise<GraphStore>;
  dispose(): Promise<void>;
}

/** A plug and what it can do. */
export interface GraphPlug {
  /** Named queries; a plug without them answers with its negative check. */
  readonly hasQueries: boolean;
  makeHarness(): Promise<GraphHarness>;
}

/** A promise of every graph store, as a check: the self-test runs it on broken stores and expects it to fail. */
export interface GraphCheck {
  readonly name: string;
  readonly needs?: 'queries' | 'no-queries';
  run(harness: GraphHarness): Promise<void>;
}

export const permit: FencePermit = testPermit();

/** One part of a key's log, its records numbered from `first`. */
export function part(
  session: string,
  records: readonly (readonly Mutation[])[],
  options: { readonly first?: number; readonly workspace?: string } = {},
): GroupPart {
  const { first = 1, workspace = testWorkspace } = options;
  return {
    key: testKey(session, workspace),
    workspace,
    session,
    steps: records.map((mutations, at) => stepAt(first + at, mutations)),
  };
}

export function node(
  owner: string,
  id: string,
  labels: readonly string[],
  properties: Properties = {},
): NodeMutation {
  return { kind: 'node', owner, id, labels, properties };
}

export function stub(owner: string, id: string, labels: readonly string[]): StubMutation {
  return { kind: 'stub', owner, id, labels };
}

export function edge(
  from: string,
  type: string,
  to: string,
  more: Partial<Pick<EdgeMutation, 'occurredAt' | 'properties'>> = {},
): EdgeMutation {
  const end = (id: string): EdgeMutation['from'] => ({
    id,
    owner: id.split('::')[0] ?? id,
    labels: [id.includes('::') ? 'Prompt' : 'Session'],
  });
  return { kind: 'edge', from: end(from), type, to: end(to), properties: {}, ...more };
}

/** A fact told by the event `source`. */
export function fact(about: string, source: string, told: SessionFact): FactMutation {
  return { kind: 'fact', about, source, fact: told };
}

export function time(second: number): string {
  return `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000000Z`;
}

export interface ExportedNode {
  readonly workspace: string;
  readonly id: string;
  readonly labels: readonly string[];
  readonly properties: JsonObject;
}

export interface ExportedEdge {
  readonly workspace: string;
  readonly from: string;
  readonly type: string;
  readonly to: string;
  readonly properties: JsonObject;
}

export async function exportedText(store: GraphStore): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of store.export()) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

export async function readGraph(store: GraphStore): Promise<{
  readonly nodes: readonly ExportedNode[];
  readonly edges: readonly ExportedEdge[];
}> {
  const lines = (await exportedText(store))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { node?: ExportedNode; edge?: ExportedEdge });
  return {
    nodes: lines.flatMap((line) => line.node ?? []),
    edges: lines.flatMap((line) => line.edge ?? []),
  };
}

export async function readNode(store: GraphStore, id: string): Promise<ExportedNode | undefined> {
  return (await readGraph(store)).nodes.find((found) => found.id === id);
}

/** `from TYPE to` of each edge, sorted. */
export async function readEdges(store: GraphStore): Promise<readonly string[]> {
  const { edges } = await readGraph(store);
  return edges.map(({ from, type, to }) => `${from} ${type} ${to}`).sort();
}

/** The code with which a call fails; fails itself when the call does not. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (isMillraceError(error)) return error.code;
    throw error;
  }
  throw new Error('the call did not fail');
}
