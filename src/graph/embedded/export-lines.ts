import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { canonicalJson, type JsonValue } from '#base';
import { edgeLine, exportedEdgeText, exportedText, nodeLine } from '../canonical.ts';
import type { GraphDigest, GraphStats } from '../store.ts';
import { storedJson } from '../stored-json.ts';

/** Text collected before it is hashed or handed on: 256 KiB of UTF-16. */
const chunkLength = 128 * 1024;

/** SQLite compares texts as bytes, which is the order of D26; only the edges of one node are sorted at a time. */
const nodesSql = `
SELECT w.name AS workspace, n.id, iif(n.derived IS NULL, n.props, NULL) AS written,
  iif(n.derived IS NULL, NULL, n.visible) AS merged,
  (SELECT group_concat(nl.lid) FROM node_label nl WHERE nl.nid = n.nid) AS lids
FROM workspace w CROSS JOIN node n
WHERE n.wid = w.wid
ORDER BY w.name, n.id`;

const edgesSql = `
SELECT w.name AS workspace, s.id AS source, t.name AS type, d.id AS target, e.props, e.occurred_at
FROM workspace w CROSS JOIN node s CROSS JOIN edge e CROSS JOIN type t CROSS JOIN node d
WHERE s.wid = w.wid AND e.src = s.nid AND t.tid = e.tid AND d.nid = e.dst
ORDER BY w.name, s.id, t.name, d.id`;

/** The canonical export (D26) in chunks of whole lines. The caller holds a read transaction, so that all of it is of one instant. */
export function* exportChunks(database: DatabaseSync): Generator<string> {
  let chunk = '';
  for (const line of exportLines(database)) {
    chunk += line;
    if (chunk.length < chunkLength) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

export function digestOf(database: DatabaseSync): GraphDigest {
  return inReadTransaction(database, () => {
    const hash = createHash('sha256');
    for (const chunk of exportChunks(database)) hash.update(chunk, 'utf8');
    return { digest: hash.digest('hex'), ...countsOf(database) };
  });
}

export function statsOf(database: DatabaseSync): GraphStats {
  return inReadTransaction(database, () => ({
    ...countsOf(database),
    labels: countByName(
      database,
      'SELECT l.name, count(*) AS n FROM node_label x JOIN label l ON l.lid = x.lid GROUP BY l.name ORDER BY l.name',
    ),
    types: countByName(
      database,
      'SELECT t.name, count(*) AS n FROM edge x JOIN type t ON t.tid = x.tid GROUP BY t.name ORDER BY t.name',
    ),
  }));
}

interface NodeExport {
  readonly workspace: string;
  readonly id: string;
  /** Properties of a node without derived ones: canonical as they lie there. */
  readonly written: string | null;
  /** Properties of one with both. */
  readonly merged: string | null;
  readonly lids: string | null;
}

interface EdgeExport {
  readonly workspace: string;
  readonly source: string;
  readonly type: string;
  readonly target: string;
  readonly props: string;
  readonly occurred_at: string | null;
}

function* exportLines(database: DatabaseSync): Generator<string> {
  const labelsOf = labelSets(database);
  for (const row of database.prepare(nodesSql).iterate()) {
    const { workspace, id, written, merged, lids } = row as unknown as NodeExport;
    const stored = written ?? canonicalJson(storedJson<JsonValue>(merged ?? '{}'));
    yield nodeLine({ workspace, id, labels: labelsOf(lids), properties: exportedText(stored) });
  }
  for (const row of database.prepare(edgesSql).iterate()) {
    const { workspace, source, type, target, props, occurred_at } = row as unknown as EdgeExport;
    const properties = exportedEdgeText(props, occurred_at ?? undefined);
    yield edgeLine({ workspace, from: source, type, to: target, properties });
  }
}

/** Labels by their numbers as SQLite lists them: a graph has far fewer sets of labels than nodes. */
function labelSets(database: DatabaseSync): (lids: string | null) => readonly string[] {
  const rows = database.prepare('SELECT lid, name FROM label').all();
  const names = new Map(rows.map((row) => [String(row['lid']), String(row['name'])]));
  const sets = new Map<string, readonly string[]>();
  return (lids) => {
    const key = lids ?? '';
    const known = sets.get(key);
    if (known !== undefined) return known;
    const labels = key === '' ? [] : key.split(',').map((lid) => names.get(lid) ?? '');
    sets.set(key, labels.sort());
    return labels;
  };
}

function countsOf(database: DatabaseSync): { readonly nodes: number; readonly edges: number } {
  const row = database
    .prepare('SELECT (SELECT count(*) FROM node) AS nodes, (SELECT count(*) FROM edge) AS edges')
    .get();
  return { nodes: Number(row?.['nodes']), edges: Number(row?.['edges']) };
}

function countByName(database: DatabaseSync, sql: string): Record<string, number> {
  const rows = database.prepare(sql).all();
  return Object.fromEntries(rows.map((row) => [String(row['name']), Number(row['n'])]));
}

function inReadTransaction<T>(database: DatabaseSync, fn: () => T): T {
  database.exec('BEGIN');
  try {
    return fn();
  } finally {
    database.exec('ROLLBACK');
  }
}
