import { createHash } from 'node:crypto';
import { canonicalJson, type JsonValue } from '#base';
import { edgeLine, exportedEdgeText, exportedText, nodeLine } from '../canonical.ts';
import { propertiesText } from '../merge-node.ts';
import { visibleLabels, visibleProperties } from '../node-state.ts';
import type { GraphDigest, GraphStats } from '../store.ts';
import { statement } from './cypher.ts';
import type { Neo4jLink, Row, Transaction } from './link.ts';
import { edgeState, nodeLabel, nodeState } from './stored-form.ts';

/** Text collected before it is hashed or handed on: 256 KiB of UTF-16. */
const chunkLength = 128 * 1024;
/** A scan of a graph of many millions of nodes. */
const scanMs = 6 * 3_600_000;

const inOrder = `MATCH (n:${nodeLabel}) WHERE n.workspace IS NOT NULL AND n.node_id IS NOT NULL`;
/** The index on both gives this order, which is that of UTF-8 bytes (D26); nothing is sorted. */
const ordered = 'ORDER BY n.workspace, n.node_id';

const nodesText = `${inOrder}
RETURN n.workspace AS workspace, n.node_id AS id, labels(n) AS labels, properties(n) AS properties ${ordered}`;

const edgesText = `${inOrder}
MATCH (n)-[e]->(m:${nodeLabel})
RETURN n.workspace AS workspace, n.node_id AS from, type(e) AS type, m.node_id AS to, properties(e) AS properties ${ordered}`;

/** The canonical export (D26) in chunks of whole lines. The caller keeps writers away, since Neo4j reads what is there at each moment. */
export async function* exportChunks(link: Neo4jLink): AsyncGenerator<string> {
  let chunk = '';
  for await (const line of exportLines(link)) {
    chunk += line;
    if (chunk.length < chunkLength) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

export async function digestOf(link: Neo4jLink): Promise<GraphDigest> {
  const hash = createHash('sha256');
  const counts = { nodes: 0, edges: 0 };
  for await (const line of exportLines(link)) {
    if (line.startsWith('{"node"')) counts.nodes += 1;
    else counts.edges += 1;
    hash.update(line, 'utf8');
  }
  return { digest: hash.digest('hex'), ...counts };
}

async function* exportLines(link: Neo4jLink): AsyncGenerator<string> {
  for await (const row of link.stream(statement(nodesText), scanMs)) yield nodeText(row);
  let ofOneNode: Row[] = [];
  for await (const row of link.stream(statement(edgesText), scanMs)) {
    const [first] = ofOneNode;
    if (first !== undefined && !isOfOneNode(first, row)) {
      yield* edgeTexts(ofOneNode);
      ofOneNode = [];
    }
    ofOneNode.push(row);
  }
  yield* edgeTexts(ofOneNode);
}

function nodeText({ workspace, id, labels, properties }: Row): string {
  const state = nodeState(
    String(id),
    labels as readonly string[],
    properties as Readonly<Record<string, unknown>>,
  );
  return nodeLine({
    workspace: String(workspace),
    id: String(id),
    labels: visibleLabels(state),
    properties: exportedText(canonicalJson(visibleProperties(state) as JsonValue)),
  });
}

function isOfOneNode(a: Row, b: Row): boolean {
  return a['from'] === b['from'] && a['workspace'] === b['workspace'];
}

/** The edges of one node, by type and end as UTF-8 bytes. */
function edgeTexts(rows: readonly Row[]): readonly string[] {
  const keyed = rows.map((row) => ({
    row,
    key: Buffer.from(`${String(row['type'])}\u0000${String(row['to'])}`),
  }));
  keyed.sort((a, b) => Buffer.compare(a.key, b.key));
  return keyed.map(({ row }) => edgeText(row));
}

function edgeText({ workspace, from, type, to, properties: stored }: Row): string {
  const state = edgeState(stored as Readonly<Record<string, unknown>>);
  return edgeLine({
    workspace: String(workspace),
    from: String(from),
    type: String(type),
    to: String(to),
    properties: exportedEdgeText(propertiesText(state.properties), state.occurredAt),
  });
}

const countNodes = `MATCH (n:${nodeLabel}) RETURN count(n) AS n`;
const countEdges = `MATCH (:${nodeLabel})-[e]->(:${nodeLabel}) RETURN type(e) AS name, count(e) AS n ORDER BY name`;
const countLabels = `MATCH (n:${nodeLabel}) UNWIND labels(n) AS name WITH name WHERE name <> '${nodeLabel}'
RETURN name, count(*) AS n ORDER BY name`;

export async function statsOf(tx: Transaction): Promise<GraphStats> {
  const [nodes, types, labels] = await Promise.all(
    [countNodes, countEdges, countLabels].map((text) => tx.run(statement(text))),
  );
  const byType = countsOf(types ?? []);
  return {
    nodes: Number(nodes?.[0]?.['n'] ?? 0),
    edges: Object.values(byType).reduce((sum, n) => sum + n, 0),
    labels: countsOf(labels ?? []),
    types: byType,
  };
}

function countsOf(rows: readonly Row[]): Record<string, number> {
  return Object.fromEntries(rows.map(({ name, n }) => [String(name), Number(n)]));
}
