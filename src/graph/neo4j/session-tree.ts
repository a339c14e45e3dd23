import { treeKinds, treeTypes } from '../queries/session-tree.ts';
import { shownProperties } from '../canonical.ts';
import { visibleProperties } from '../node-state.ts';
import { statement } from './cypher.ts';
import type { Row, Transaction } from './link.ts';
import { nodeLabel, nodeState } from './stored-form.ts';

const nodeColumns =
  'n.workspace AS workspace, n.node_id AS id, labels(n) AS labels, properties(n) AS properties';

const topText = `MATCH (n:${nodeLabel} {node_id: $session_node})
WHERE $workspace IS NULL OR n.workspace IN $workspace
RETURN ${nodeColumns}`;

const childrenText = `UNWIND $ids AS id
MATCH (p:${nodeLabel} {workspace: $w, node_id: id})-[e:${treeTypes.join('|')}]->(n:${nodeLabel})
RETURN id AS parent, type(e) AS via, ${nodeColumns}`;

interface Child {
  readonly via: string;
  readonly id: string;
}

/** What hangs below the session in one workspace: each node read once, level by level. */
interface Below {
  readonly nodes: Map<string, Row>;
  readonly children: Map<string, Child[]>;
}

/** Each node once under each of its wholes, depth first, siblings by time; a cycle of sessions ends where it would repeat. */
export async function sessionTreeRows(
  tx: Transaction,
  parameters: Readonly<Record<string, unknown>>,
  { depth, limit }: { readonly depth: number; readonly limit: number },
): Promise<readonly Row[]> {
  const tops = await tx.run(statement(topText, parameters));
  const sorted = tops.toSorted((a, b) => byBytes(String(a['workspace']), String(b['workspace'])));
  const rows: Row[] = [];
  for (const top of sorted) {
    const below = await readBelow(tx, top, depth);
    const walk = { below, depthMax: depth, limit, rows };
    visit(walk, { id: String(top['id']), parent: null, via: null, trail: [] });
  }
  return rows;
}

async function readBelow(tx: Transaction, top: Row, depth: number): Promise<Below> {
  const w = String(top['workspace']);
  const below: Below = { nodes: new Map([[String(top['id']), top]]), children: new Map() };
  let level = [String(top['id'])];
  for (let at = 0; at < depth && level.length > 0; at += 1) {
    const found = await tx.run(statement(childrenText, { ids: level, w }));
    const next: string[] = [];
    for (const row of found) {
      const [id, parent] = [String(row['id']), String(row['parent'])];
      const siblings = below.children.get(parent) ?? [];
      below.children.set(parent, siblings);
      siblings.push({ via: String(row['via']), id });
      if (below.nodes.has(id)) continue;
      below.nodes.set(id, row);
      next.push(id);
    }
    level = next;
  }
  return below;
}

interface Walk {
  readonly below: Below;
  readonly depthMax: number;
  readonly limit: number;
  readonly rows: Row[];
}

interface Step {
  readonly id: string;
  readonly parent: string | null;
  readonly via: string | null;
  readonly trail: readonly string[];
}

function visit(walk: Walk, { id, parent, via, trail }: Step): void {
  const node = walk.below.nodes.get(id);
  if (node === undefined || walk.rows.length >= walk.limit) return;
  walk.rows.push({ ...shown(node), depth: trail.length, parent, via });
  if (trail.length >= walk.depthMax) return;
  const below = [...trail, id];
  const children = (walk.below.children.get(id) ?? [])
    .filter((child) => !below.includes(child.id))
    .map((child) => ({ child, key: siblingKey(walk, child.id) }))
    .toSorted((a, b) => byBytes(a.key, b.key));
  for (const { child } of children)
    visit(walk, { id: child.id, parent: id, via: child.via, trail: below });
}

function siblingKey({ below }: Walk, id: string): string {
  const node = below.nodes.get(id);
  const { began_at: began, ended_at: ended, kind } = node === undefined ? {} : shown(node);
  const at = [began, ended, '~'].find((one) => typeof one === 'string');
  return [at, kind === 'Prompt' ? 0 : 1, id].join('\u0001');
}

function shown(row: Row): Row {
  const id = String(row['id']);
  const state = nodeState(
    id,
    row['labels'] as readonly string[],
    row['properties'] as Readonly<Record<string, unknown>>,
  );
  const own = shownProperties(visibleProperties(state));
  const { prompt } = own;
  const success = own['result_success'];
  const names = ['tool_name', 'orchestrator_name', 'agent', 'model'];
  const name = [...names, 'block_type', 'skill_name', 'name'].map((one) => own[one]).find(isTold);
  return {
    workspace: row['workspace'],
    kind: treeKinds.find((kind) => state.labels.has(kind)) ?? null,
    id,
    name: name ?? (typeof prompt === 'string' ? Array.from(prompt).slice(0, 80).join('') : null),
    status: own['status'] ?? (success === false ? 'failed' : success === true ? 'ok' : null),
    began_at: own['started_at'] ?? own['occurred_at'] ?? null,
    ended_at: own['ended_at'] ?? null,
  };
}

function isTold(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
