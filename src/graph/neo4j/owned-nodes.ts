import { sessionNodeId } from '#record';
import { labelSource, type NodeState } from '../node-state.ts';
import { statement } from './cypher.ts';
import type { Transaction } from './link.ts';
import { nodeLabel, nodeState } from './stored-form.ts';

/** Nodes of one look at the database. */
export const pageSize = 1_000;

const ownedText = `MATCH (n:${nodeLabel} {workspace: $w})
WHERE n.node_id STARTS WITH $first AND n.node_id > $after
RETURN n.node_id AS id, labels(n) AS labels, properties(n) AS properties
ORDER BY n.node_id LIMIT $limit`;

export interface OwnedNode {
  readonly id: string;
  readonly state: NodeState;
}

/** A page of the nodes that a session owns, and where the next one begins; undefined behind the last. */
export async function ownedPage(
  tx: Transaction,
  { workspace, session }: { readonly workspace: string; readonly session: string },
  after: string,
): Promise<{ readonly nodes: readonly OwnedNode[]; readonly after: string | undefined }> {
  const rows = await tx.run(
    statement(ownedText, {
      w: workspace,
      first: sessionNodeId(session),
      after,
      limit: BigInt(pageSize),
    }),
  );
  const nodes = rows
    .map((row) => {
      const properties = row['properties'] as Readonly<Record<string, unknown>>;
      const id = String(row['id']);
      return { id, state: nodeState(id, row['labels'] as readonly string[], properties) };
    })
    // Another session's name may begin with this one's.
    .filter(({ state }) => state.owner === session);
  return { nodes, after: rows.length < pageSize ? undefined : String(rows.at(-1)?.['id']) };
}

/** Kinds of nodes that other sessions may speak of (ING-615). */
export function isSpokenOf({ labels }: NodeState): boolean {
  return labels.has('Session') || labels.has('Delegation');
}

/** What is left of a node of which others still tell. */
export function stubOf({ owner, labels }: NodeState): NodeState {
  const kinds = labels.has('Delegation') ? ['Delegation', 'SST_EVENT'] : ['Session'];
  return {
    owner,
    isWritten: false,
    labels: new Map(kinds.map((label) => [label, labelSource.stub])),
    properties: {},
    derived: {},
  };
}
