import type { FencePermit } from '#fence';
import { sessionNodeId } from '#record';
import { deriveAgain } from '../derive-again.ts';
import type { ToldFact } from '../derive/derive-session.ts';
import type { GraphRemovalCounts, RemovedSession } from '../removal.ts';
import { inBatches, joined, statement, statementsFor } from './cypher.ts';
import { guard, liveMark, runWrite, setRows } from './group-writer.ts';
import type { Transaction } from './link.ts';
import { isSpokenOf, ownedPage, type OwnedNode } from './owned-nodes.ts';
import { readOldEdges, readUntilKnown } from './read-set.ts';
import { planRemoval, type NearEdge } from './plan-removal.ts';
import { nodeLabel, nodeState } from './stored-form.ts';

/** Facts are found by who told them; the index is made with the first removal, since nothing else asks for it. */
export const factSourceIndex =
  'CREATE INDEX millrace_fact_source IF NOT EXISTS FOR (n:MillraceFact) ON (n.source)';

const factsTold = `MATCH (f:MillraceFact) WHERE f.source STARTS WITH $first AND f.key STARTS WITH $of
RETURN f.key AS key, f.about AS about, f.source AS source, f.fact AS fact`;

const factsAbout = `UNWIND $rows AS r MATCH (f:MillraceFact {about: r.about})
RETURN r.session AS session, f.source AS source, f.fact AS fact`;

const factsNaming = `MATCH (f:MillraceFact)
WHERE f.key STARTS WITH $of AND any(text IN $texts WHERE f.fact CONTAINS text)
RETURN f.fact AS fact`;

const dropFacts = 'UNWIND $rows AS r MATCH (f:MillraceFact {key: r.key}) DELETE f';

const outsideOf = `UNWIND $rows AS r
MATCH (n:${nodeLabel} {workspace: r.w, node_id: r.id})
WHERE EXISTS { (n)--(m:${nodeLabel}) WHERE m._millrace CONTAINS '"owner"' OR NOT (
  (m.session_id IS NULL AND (m.node_id = $first OR m.node_id STARTS WITH $first + '::'))
  OR (m.session_id = $session AND m.node_id STARTS WITH $first)) }
RETURN r.id AS id`;

const countEdges = `MATCH (n:${nodeLabel})-[e]-() WHERE n.workspace = $w AND n.node_id IN $ids
RETURN count(DISTINCT e) AS edges`;

const dropNodes = `UNWIND $rows AS r
MATCH (n:${nodeLabel} {workspace: r.w, node_id: r.id}) DETACH DELETE n`;

const lockNodes = `UNWIND $rows AS r
MATCH (n:${nodeLabel} {workspace: r.w, node_id: r.id})
SET n._millrace_lock = true REMOVE n._millrace_lock`;

const nearEdges = `UNWIND $rows AS r
MATCH (n:${nodeLabel} {workspace: r.w, node_id: r.id})-[e]-(m:${nodeLabel})
RETURN DISTINCT startNode(e).node_id AS from, type(e) AS type, endNode(e).node_id AS to,
  m.node_id AS other, labels(m) AS labels, m.session_id AS session, m._millrace AS hidden`;

const dropEdges = `UNWIND $rows AS r
MATCH (a:${nodeLabel} {workspace: r.w, node_id: r.from}) MATCH (b:${nodeLabel} {workspace: r.w, node_id: r.to})
MATCH (a)-[e:$(r.type)]->(b) DELETE e`;

const sourcesOf = `MATCH (s:MillraceSource) WHERE s.key STARTS WITH $of AND any(end IN $ends WHERE s.key ENDS WITH end)
RETURN s.key AS key, s.concept AS concept`;

const dropSources = 'UNWIND $rows AS r MATCH (s:MillraceSource {key: r.key}) DELETE s';

const dropUnnamed = `UNWIND $rows AS r
MATCH (n:${nodeLabel} {workspace: r.w, node_id: r.id})
WHERE NOT EXISTS { MATCH (s:MillraceSource {concept: r.concept}) }
DETACH DELETE n`;

const statesOf = `UNWIND $rows AS r
MATCH (n:${nodeLabel} {workspace: r.w, node_id: r.id})
SET n._millrace_lock = true REMOVE n._millrace_lock
RETURN r.id AS id, labels(n) AS labels, properties(n) AS properties, EXISTS { (n)--() } AS hasEdges`;

/** Who removes: each of its transactions looks at the guards of the sessions' keys (FEN-410). */
export interface RemovalGuard {
  readonly graphId: string;
  readonly permit: FencePermit;
  readonly sessions: readonly RemovedSession[];
}

function guarded(tx: Transaction, { graphId, permit, sessions }: RemovalGuard): Promise<unknown> {
  return guard(
    tx,
    { graphId, permit },
    sessions.map(({ key }) => key),
  );
}

/**
 * One page of what nobody else can speak of: events, runs, calls. It goes first, in transactions of a page each, so that the last one is only
 * about what others tell of. Cut off, it is taken up where it was: what is gone is not found again.
 */
export async function removeInterior(
  tx: Transaction,
  by: RemovalGuard,
  session: RemovedSession,
  after: string,
): Promise<GraphRemovalCounts & { readonly after: string | undefined }> {
  await guarded(tx, by);
  const { workspace: w } = session;
  const page = await ownedPage(tx, session, after);
  const first = sessionNodeId(session.session);
  const told = await tx.run(statement(factsTold, { first, of: joined(w, '') }));
  const sources = new Set(told.map(({ source }) => String(source)));
  const candidates = page.nodes.filter(
    ({ id, state }) => state.isWritten && !isSpokenOf(state) && !sources.has(id),
  );
  const rows = candidates.map(({ id }) => ({ w, id }));
  const outside = new Set(
    (await tx.run(statement(outsideOf, { rows, first, session: session.session }))).map(({ id }) =>
      String(id),
    ),
  );
  const gone = rows.filter(({ id }) => !outside.has(id));
  const counts = await dropWithEdges(tx, w, gone);
  liveMark(by.permit);
  return { ...counts, after: page.after };
}

async function dropWithEdges(
  tx: Transaction,
  w: string,
  rows: readonly { readonly w: string; readonly id: string }[],
): Promise<GraphRemovalCounts> {
  let edges = 0;
  for (const batch of inBatches(rows)) {
    const ids = batch.map(({ id }) => id);
    const [row] = await tx.run(statement(countEdges, { w, ids }));
    edges += Number(row?.['edges'] ?? 0);
    await tx.run(statement(dropNodes, { rows: batch }));
  }
  return { nodes: rows.length, edges };
}

/** What is left of the sessions in one workspace, what they told of others, what follows for those, and their rows: in one transaction (ING-616). */
export async function removeRest(
  tx: Transaction,
  by: RemovalGuard,
  workspace: string,
): Promise<GraphRemovalCounts> {
  await guarded(tx, by);
  const own = by.sessions.filter((one) => one.workspace === workspace);
  const owners = own.map(({ session }) => session);
  const removed = await lockOwned(tx, own);
  const lost = await takeFacts(tx, workspace, owners, removed);
  const edges = await readNear(tx, workspace, removed);
  const facts = await readFacts(tx, workspace, [...lost.keys()]);
  const parents = await parentsNamed(tx, workspace, [...lost.keys()]);
  const plan = planRemoval({ owners, removed, edges, facts, parents });
  await clear(
    tx,
    dropEdges,
    plan.droppedEdges.map((edge) => ({ w: workspace, ...edge })),
  );
  await dropConcepts(tx, workspace, owners);
  const stubs = { nodes: plan.stubs, edges: new Map(), factChanges: [], conceptSources: [] };
  for (const one of statementsFor(workspace, stubs, new Map())) await runWrite(tx, one);
  const rows = plan.gone.map((id) => ({ w: workspace, id }));
  await clear(tx, dropNodes, rows);
  await derive(tx, workspace, lost, parents, facts);
  await sweep(tx, workspace, new Set([...plan.beside, ...[...lost.keys()].map(sessionNodeId)]));
  await setRows(tx, new Map(own.map(({ key }) => [key, null])));
  liveMark(by.permit);
  return { nodes: rows.length, edges: plan.droppedEdges.length };
}

async function lockOwned(
  tx: Transaction,
  own: readonly RemovedSession[],
): Promise<ReadonlyMap<string, OwnedNode['state']>> {
  const removed = new Map<string, OwnedNode['state']>();
  for (const session of own) {
    for (let after: string | undefined = ''; after !== undefined;) {
      const page: Awaited<ReturnType<typeof ownedPage>> = await ownedPage(tx, session, after);
      for (const { id, state } of page.nodes) removed.set(id, state);
      ({ after } = page);
    }
  }
  const w = own[0]?.workspace;
  await clear(
    tx,
    lockNodes,
    [...removed.keys()].toSorted().map((id) => ({ w, id })),
  );
  return removed;
}

/** Everything that the sessions told, and who it was about; the parents that it named too. */
async function takeFacts(
  tx: Transaction,
  workspace: string,
  owners: readonly string[],
  removed: ReadonlyMap<string, unknown>,
): Promise<ReadonlyMap<string, readonly ToldFact[]>> {
  const lost = new Map<string, ToldFact[]>(owners.map((session) => [session, []]));
  const of = joined(workspace, '');
  const keys: { key: string }[] = [];
  for (const session of owners) {
    const told = await tx.run(statement(factsTold, { first: sessionNodeId(session), of }));
    for (const { key, about, source, fact } of told) {
      if (!removed.has(String(source))) continue;
      keys.push({ key: String(key) });
      const name = String(about).slice(of.length);
      lost.set(name, [...(lost.get(name) ?? []), toldFact(source, fact)]);
    }
  }
  await clear(tx, dropFacts, keys);
  for (const { fact } of [...lost.values()].flat())
    if ('parent' in fact && fact.parent !== null && !lost.has(fact.parent))
      lost.set(fact.parent, []);
  return lost;
}

function toldFact(source: unknown, fact: unknown): ToldFact {
  return { source: String(source), fact: JSON.parse(String(fact)) as ToldFact['fact'] };
}

async function readNear(
  tx: Transaction,
  w: string,
  removed: ReadonlyMap<string, unknown>,
): Promise<readonly NearEdge[]> {
  const rows = [...removed.keys()].map((id) => ({ w, id }));
  const found = (
    await Promise.all(inBatches(rows).map((batch) => tx.run(statement(nearEdges, { rows: batch }))))
  ).flat();
  return found.map((row) => {
    const stored = {
      ...(row['session'] === null ? {} : { session_id: row['session'] }),
      ...(row['hidden'] === null ? {} : { _millrace: row['hidden'] }),
    };
    const id = String(row['other']);
    const { owner, isWritten } = nodeState(id, row['labels'] as readonly string[], stored);
    const place = { from: String(row['from']), type: String(row['type']), to: String(row['to']) };
    return { ...place, other: { id, owner, isWritten } };
  });
}

/** Facts that are left about each of these sessions. */
async function readFacts(
  tx: Transaction,
  workspace: string,
  sessions: readonly string[],
): Promise<ReadonlyMap<string, readonly ToldFact[]>> {
  const facts = new Map<string, ToldFact[]>();
  const rows = sessions.map((session) => ({ session, about: joined(workspace, session) }));
  for (const batch of inBatches(rows))
    for (const row of await tx.run(statement(factsAbout, { rows: batch }))) {
      const session = String(row['session']);
      facts.set(session, [...(facts.get(session) ?? []), toldFact(row['source'], row['fact'])]);
    }
  return facts;
}

/** Names in one look over all facts. */
const namesAtOnce = 200;

/** Those of the sessions that a fact which is left names as a parent, chosen or not: their stubs stay. */
async function parentsNamed(
  tx: Transaction,
  workspace: string,
  sessions: readonly string[],
): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  for (let at = 0; at < sessions.length; at += namesAtOnce) {
    const some = sessions.slice(at, at + namesAtOnce);
    const texts = some.map((session) => `"parent":${JSON.stringify(session)}`);
    const found = await tx.run(statement(factsNaming, { of: joined(workspace, ''), texts }));
    for (const { fact } of found) {
      const told = toldFact('', fact).fact;
      const isParent = told.type === 'started' || told.type === 'forked';
      if (isParent && told.parent !== null) named.add(told.parent);
    }
  }
  return named;
}

/** Concepts that only these sessions named are gone. */
async function dropConcepts(tx: Transaction, w: string, owners: readonly string[]): Promise<void> {
  const ends = owners.map((session) => `\u0000${session}`);
  const found = await tx.run(statement(sourcesOf, { of: joined(w, ''), ends }));
  const rows = found.flatMap(({ key, concept }) => {
    const id = String(concept).slice(joined(w, '').length);
    const session = String(key).slice(joined(w, id, '').length);
    return owners.includes(session) ? [{ w, id, key: String(key), concept: String(concept) }] : [];
  });
  await clear(tx, dropSources, rows);
  await clear(tx, dropUnnamed, rows);
}

/** What follows for the sessions of which a node is left, now that the facts are gone. */
async function derive(
  tx: Transaction,
  workspace: string,
  lost: ReadonlyMap<string, readonly ToldFact[]>,
  parents: ReadonlySet<string>,
  facts: ReadonlyMap<string, readonly ToldFact[]>,
): Promise<void> {
  const names = [...lost.keys()];
  const states = await readStates(
    tx,
    names.map((name) => ({ w: workspace, id: sessionNodeId(name) })),
  );
  const isThere = (session: string): boolean => {
    if (parents.has(session) || (facts.get(session)?.length ?? 0) > 0) return true;
    const found = states.get(sessionNodeId(session));
    return found !== undefined && (found.state.isWritten || found.hasEdges);
  };
  const changes = await readUntilKnown(
    tx,
    (reader) => new Map([[workspace, deriveAgain(reader, workspace, lost, isThere)]]),
  );
  const edges = await readOldEdges(tx, changes);
  for (const [of, changed] of changes)
    for (const one of statementsFor(of, changed, edges)) await runWrite(tx, one);
}

interface FoundNode {
  readonly state: OwnedNode['state'];
  readonly hasEdges: boolean;
}

async function readStates(
  tx: Transaction,
  rows: readonly { readonly w: string; readonly id: string }[],
): Promise<ReadonlyMap<string, FoundNode>> {
  const sorted = rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const found = new Map<string, FoundNode>();
  for (const batch of inBatches(sorted))
    for (const row of await tx.run(statement(statesOf, { rows: batch }))) {
      const id = String(row['id']);
      const properties = row['properties'] as Readonly<Record<string, unknown>>;
      const state = nodeState(id, row['labels'] as readonly string[], properties);
      found.set(id, { state, hasEdges: row['hasEdges'] === true });
    }
  return found;
}

/** Stubs that only these sessions spoke of: ends of their edges, and the sessions that their facts were about. */
async function sweep(tx: Transaction, w: string, ids: ReadonlySet<string>): Promise<void> {
  const states = await readStates(
    tx,
    [...ids].map((id) => ({ w, id })),
  );
  const loose = [...states].filter(
    ([, { state, hasEdges }]) => !state.isWritten && state.owner !== null && !hasEdges,
  );
  const names = [...new Set(loose.map(([, { state }]) => state.owner ?? ''))];
  const facts = await readFacts(tx, w, names);
  const parents = await parentsNamed(tx, w, names);
  const gone = loose.filter(([id, { state }]) => {
    const owner = state.owner ?? '';
    const told = facts.get(owner) ?? [];
    if (id === sessionNodeId(owner)) return told.length === 0 && !parents.has(owner);
    return !told.some(({ fact }) => 'delegation' in fact && fact.delegation === id);
  });
  await clear(
    tx,
    dropNodes,
    gone.map(([id]) => ({ w, id })),
  );
}

async function clear(tx: Transaction, text: string, rows: readonly object[]): Promise<void> {
  for (const batch of inBatches(rows)) await tx.run(statement(text, { rows: batch }));
}
