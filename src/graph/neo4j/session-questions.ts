import { sessionNodeId } from '#record';
import { derivedEdgeTypes } from '../merge-group.ts';
import type { NodeState } from '../node-state.ts';
import type { GraphRemoval, QuietSession, RemovedSession, SessionSurvey } from '../removal.ts';
import { joined, statement } from './cypher.ts';
import type { Neo4jLink, Row, Transaction } from './link.ts';
import { ownedPage } from './owned-nodes.ts';
import { nodeLabel, nodeState } from './stored-form.ts';

/**
 * What a node and an edge take on a server, with their properties and indexes, about: a server tells no sizes by session. The same figures make the
 * size of all and that of one session, so that what is taken away by size adds up.
 */
const nodeBytes = 1_000;
const edgeBytes = 100;

const objectPattern = /\$object[\\":\s{]*sha256[\\":\s]*([0-9a-f]{64})/g;
const digestPattern = /[0-9a-f]{64}/g;
const neverPast = '9999-12-31T23:59:59.999Z';

const countsText = `MATCH (n:${nodeLabel}) WITH count(n) AS nodes
MATCH ()-[e]->() RETURN nodes, count(e) AS edges`;

const edgesText = `UNWIND $ids AS id
MATCH (n:${nodeLabel} {workspace: $w, node_id: id}) RETURN sum(COUNT { (n)-->() }) AS edges`;

const belowText = `UNWIND $ids AS id
MATCH (:${nodeLabel} {workspace: $w, node_id: id})-[:${derivedEdgeTypes.join('|')}]->(m:${nodeLabel})
RETURN m.node_id AS id, labels(m) AS labels, properties(m) AS properties ORDER BY id`;

/** Names of an object stand in texts, or in lists of them. */
const namesObject = (node: string): string => `any(k IN keys(${node}) WHERE
  toStringOrNull(${node}[k]) CONTAINS '$object'
  OR (valueType(${node}[k]) STARTS WITH 'LIST' AND any(x IN ${node}[k] WHERE toStringOrNull(x) CONTAINS '$object')))`;

const objectNodes = `MATCH (n:${nodeLabel}) WHERE ${namesObject('n')}
RETURN n.workspace AS w, n.node_id AS id, labels(n) AS labels, properties(n) AS properties`;

const objectFacts = `MATCH (f:MillraceFact) WHERE f.fact CONTAINS '$object'
RETURN f.about AS about, f.fact AS fact`;

const quietText = `MATCH (n:Session) WHERE n.workspace IS NOT NULL
  AND ($workspaces IS NULL OR n.workspace IN $workspaces)
  AND coalesce(n.last_updated, n.ended_at, n.started_at) < datetime($before)
RETURN n.workspace AS w, n.node_id AS id, labels(n) AS labels, properties(n) AS properties
ORDER BY coalesce(n.last_updated, n.ended_at, n.started_at), w, n.session_id LIMIT $limit`;

const sessionText = `MATCH (n:${nodeLabel} {workspace: $w, node_id: $id})
RETURN n.node_id AS id, labels(n) AS labels, properties(n) AS properties`;

export async function usedBytes(tx: Transaction): Promise<number> {
  const [row] = await tx.run(statement(countsText));
  return Number(row?.['nodes'] ?? 0) * nodeBytes + Number(row?.['edges'] ?? 0) * edgeBytes;
}

export async function survey(
  tx: Transaction,
  of: Omit<RemovedSession, 'key'>,
): Promise<SessionSurvey> {
  const objects = new Set<string>();
  let [nodes, edges] = [0, 0];
  for (let after: string | undefined = ''; after !== undefined;) {
    const page: Awaited<ReturnType<typeof ownedPage>> = await ownedPage(tx, of, after);
    nodes += page.nodes.length;
    for (const { state } of page.nodes)
      for (const [, sha256 = ''] of JSON.stringify(state.properties).matchAll(objectPattern))
        objects.add(sha256);
    const ids = page.nodes.map(({ id }) => id);
    const [row] = await tx.run(statement(edgesText, { w: of.workspace, ids }));
    edges += Number(row?.['edges'] ?? 0);
    ({ after } = page);
  }
  return { nodes, bytes: nodes * nodeBytes + edges * edgeBytes, objects: [...objects] };
}

/** Level by level, so that the nearest come first; a circle ends where it would repeat. */
export async function descendants(
  tx: Transaction,
  { workspace, session }: Omit<RemovedSession, 'key'>,
): Promise<readonly string[]> {
  const found = new Set<string>([session]);
  for (let level = [session]; level.length > 0;) {
    const ids = level.map(sessionNodeId);
    const rows = await tx.run(statement(belowText, { w: workspace, ids }));
    level = rows
      .map((row) => stateOf(row).owner)
      .filter((owner): owner is string => owner !== null && !found.has(owner));
    for (const owner of level) found.add(owner);
    level = [...new Set(level)];
  }
  found.delete(session);
  return [...found];
}

export async function quiet(
  tx: Transaction,
  { before, limit, workspaces }: Parameters<GraphRemoval['quiet']>[0],
): Promise<readonly QuietSession[]> {
  const asked = { before, limit: BigInt(limit), workspaces: workspaces ?? null };
  const rows = await tx.run(statement(quietText, asked));
  return rows.flatMap((row) => {
    const state = stateOf(row);
    const lastAt = lastAtOf(state);
    if (!state.isWritten || state.owner === null || lastAt === undefined) return [];
    return [{ workspace: String(row['w']), session: state.owner, lastAt }];
  });
}

/** Texts that name objects, with who owns them; reads all nodes and facts. */
async function* namingTexts(
  link: Neo4jLink,
  timeoutMs: number,
): AsyncGenerator<{
  readonly text: string;
  readonly workspace: string;
  readonly owner: string | null;
}> {
  for await (const row of link.stream(statement(objectNodes), timeoutMs)) {
    const { owner, properties, derived } = stateOf(row);
    yield { text: JSON.stringify([properties, derived]), workspace: String(row['w']), owner };
  }
  for await (const row of link.stream(statement(objectFacts), timeoutMs)) {
    const [workspace = '', owner = ''] = String(row['about']).split('\u0000');
    yield { text: String(row['fact']), workspace, owner };
  }
}

/** A digest counts wherever it stands: nothing goes that might be named. */
export async function unreferenced(
  link: Neo4jLink,
  objects: readonly string[],
  timeoutMs: number,
): Promise<readonly string[]> {
  const left = new Set(objects);
  for await (const { text } of namingTexts(link, timeoutMs))
    for (const [sha256] of text.matchAll(digestPattern)) left.delete(sha256);
  return [...left];
}

export async function namedUntil(
  link: Neo4jLink,
  objects: readonly string[],
  timeoutMs: number,
): Promise<ReadonlyMap<string, string>> {
  const asked = new Set(objects);
  const lastAts = new Map<string, string>();
  const until = new Map<string, string>();
  for await (const { text, workspace, owner } of namingTexts(link, timeoutMs)) {
    const named = [...text.matchAll(digestPattern)].map(([sha256]) => sha256);
    const known = named.filter((sha256) => asked.has(sha256));
    if (known.length === 0) continue;
    const key = joined(workspace, owner ?? '');
    const lastAt = lastAts.get(key) ?? (await readLastAt(link, workspace, owner, timeoutMs));
    lastAts.set(key, lastAt);
    for (const sha256 of known) if (lastAt > (until.get(sha256) ?? '')) until.set(sha256, lastAt);
  }
  return until;
}

async function readLastAt(
  link: Neo4jLink,
  workspace: string,
  owner: string | null,
  timeoutMs: number,
): Promise<string> {
  if (owner === null) return neverPast;
  const asked = statement(sessionText, { w: workspace, id: sessionNodeId(owner) });
  const [row] = await link.read((tx) => tx.run(asked), timeoutMs);
  const state = row === undefined ? undefined : stateOf(row);
  return (state?.isWritten === true ? lastAtOf(state) : undefined) ?? neverPast;
}

/** The last time that a session's own node tells. */
function lastAtOf({ properties }: NodeState): string | undefined {
  for (const name of ['last_updated', 'ended_at', 'started_at']) {
    const value = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (typeof value === 'object' && '$time' in value) return value.$time;
  }
  return undefined;
}

function stateOf(row: Row): NodeState {
  const properties = row['properties'] as Readonly<Record<string, unknown>>;
  return nodeState(String(row['id']), row['labels'] as readonly string[], properties);
}
