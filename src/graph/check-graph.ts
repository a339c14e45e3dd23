import { unresolvedAgent } from './derive/derive-delegation.ts';
import type { GraphStore } from './store.ts';

/** One thing that must not be in a graph (ING-606). */
export interface GraphFinding {
  readonly rule:
    | 'dangling-edge'
    | 'node-without-label'
    | 'iteration-owner'
    | 'block-owner'
    | 'event-owner'
    | 'session-type'
    | 'parent-edge';
  readonly workspace: string;
  readonly id: string;
  readonly tells: string;
}

/** What a walk over the whole graph tells. */
export interface GraphReport {
  readonly nodes: number;
  readonly edges: number;
  readonly findings: readonly GraphFinding[];
  /** Runs that stand in for one that is not known (ING-607). */
  readonly placeholderRuns: number;
  /** Self-delegations whose agent is not known (ING-616). */
  readonly unresolvedDelegations: number;
}

/** Findings that one check returns at most; a graph with as many is broken as a whole. */
const findingsMax = 1000;

interface CheckedNode {
  readonly labels: ReadonlySet<string>;
  readonly owners: string[];
  readonly parents: string[];
  readonly events: string[];
}

/**
 * Walks the canonical export of any store: each Iteration hangs on exactly one OrchestratorRun, each ContentBlock on one Iteration or run, each
 * Event on one Session; a session has at most one type and one parent edge; no edge dangles and no node is without a label. It holds all ids in
 * memory: for tests and for an operator's `graph check`, not for every start.
 */
export async function reportGraph(store: Pick<GraphStore, 'export'>): Promise<GraphReport> {
  const nodes = new Map<string, CheckedNode>();
  const findings: GraphFinding[] = [];
  const counts = { edges: 0, placeholderRuns: 0, unresolvedDelegations: 0 };
  for await (const line of exportedLines(store.export())) {
    if ('node' in line) {
      const { workspace, id, labels, properties } = line.node;
      nodes.set(nodeKey(workspace, id), {
        labels: new Set(labels),
        owners: [],
        parents: [],
        events: [],
      });
      if (properties['unresolved'] === true) counts.placeholderRuns += 1;
      if (properties['resolved_agent'] === unresolvedAgent) counts.unresolvedDelegations += 1;
    } else {
      counts.edges += 1;
      checkEdge(nodes, line.edge, findings);
    }
  }
  for (const [key, node] of nodes) {
    const [workspace = '', id = ''] = key.split('\u0000');
    for (const [rule, tells] of nodeFindings(node)) findings.push({ rule, workspace, id, tells });
  }
  return { nodes: nodes.size, ...counts, findings: findings.slice(0, findingsMax) };
}

/** The findings alone. */
export async function checkGraph(
  store: Pick<GraphStore, 'export'>,
): Promise<readonly GraphFinding[]> {
  return (await reportGraph(store)).findings;
}

interface ExportedEdge {
  readonly workspace: string;
  readonly from: string;
  readonly type: string;
  readonly to: string;
}

type ExportedLine =
  | {
      readonly node: {
        readonly workspace: string;
        readonly id: string;
        readonly labels: readonly string[];
        readonly properties: Readonly<Record<string, unknown>>;
      };
    }
  | { readonly edge: ExportedEdge };

/** Chunks hold whole lines. */
async function* exportedLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ExportedLine> {
  for await (const chunk of chunks) {
    const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('utf8');
    for (const line of text.split('\n')) {
      if (line !== '') yield JSON.parse(line) as ExportedLine;
    }
  }
}

function checkEdge(
  nodes: ReadonlyMap<string, CheckedNode>,
  edge: ExportedEdge,
  findings: GraphFinding[],
): void {
  const from = nodes.get(nodeKey(edge.workspace, edge.from));
  const to = nodes.get(nodeKey(edge.workspace, edge.to));
  if (from === undefined || to === undefined) {
    const { workspace, type, to: id } = edge;
    const tells = `${edge.from} -${type}-> ${id} has no ${from === undefined ? 'start' : 'end'}`;
    findings.push({ rule: 'dangling-edge', workspace, id: edge.from, tells });
    return;
  }
  if (edge.type === 'HAS_PART') to.owners.push([...from.labels].join(','));
  else if (edge.type === 'HAS_EVENT') to.events.push(edge.from);
  else if (edge.type === 'FORKED' || edge.type === 'HAS_SUBSESSION') to.parents.push(edge.from);
}

function nodeFindings(node: CheckedNode): (readonly [GraphFinding['rule'], string])[] {
  const { labels, owners, events, parents } = node;
  const types = ['RootSession', 'SubSession', 'ForkedSession'].filter((type) => labels.has(type));
  const rules: readonly (readonly [boolean, GraphFinding['rule'], string])[] = [
    [labels.size === 0, 'node-without-label', 'has no label'],
    [
      labels.has('Iteration') && !isOne(owners, /\bOrchestratorRun\b/),
      'iteration-owner',
      `hangs on ${owners.length} owners (${owners.join('; ')}), not on one run`,
    ],
    [
      labels.has('ContentBlock') && !isOne(owners, /\b(?:Iteration|OrchestratorRun)\b/),
      'block-owner',
      `hangs on ${owners.length} owners (${owners.join('; ')}), not on one iteration or run`,
    ],
    [
      labels.has('Event') && events.length !== 1,
      'event-owner',
      `has ${events.length} HAS_EVENT, not one`,
    ],
    [types.length > 1, 'session-type', `is ${types.join(' and ')}`],
    [parents.length > 1, 'parent-edge', `has parents ${parents.join(', ')}`],
  ];
  return rules.filter(([isBroken]) => isBroken).map(([, rule, tells]) => [rule, tells]);
}

function isOne(owners: readonly string[], label: RegExp): boolean {
  return owners.length === 1 && label.test(owners[0] ?? '');
}

function nodeKey(workspace: string, id: string): string {
  return `${workspace}\u0000${id}`;
}
