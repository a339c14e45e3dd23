import type { DatabaseSync } from 'node:sqlite';
import type { Key, Position } from '#record';
import {
  nothingChanged,
  type CopyPage,
  type CopyPhase,
  type CopySourceGraph,
} from '../copy-graph.ts';
import type { FenceMark } from '../fence-mark.ts';
import type {
  ConceptSource,
  EdgeChange,
  FactChange,
  GroupChanges,
  NodeChange,
} from '../group-changes.ts';
import type { Properties, SessionFact } from '../mutation.ts';
import type { AppliedRow } from '../store.ts';
import { digestOf } from './export-lines.ts';
import { openForReading } from './open-database.ts';
import { StoredGraph } from './stored-graph.ts';
import { storedJson } from '../stored-json.ts';

const pageRowsDefault = 2_000;

const nodesSql = `
SELECT n.nid, n.id, w.name AS workspace FROM node n CROSS JOIN workspace w
WHERE n.nid > ? AND w.wid = n.wid ORDER BY n.nid LIMIT ?`;

const sourcesSql = `
SELECT o.session, c.occurred_at FROM concept_source c CROSS JOIN owner o
WHERE c.nid = ? AND o.oid = c.oid`;

const edgesSql = `
SELECT e.src, e.tid, e.dst, e.props, e.occurred_at, s.id AS source, d.id AS target, t.name AS type, w.name AS workspace
FROM edge e CROSS JOIN node s CROSS JOIN node d CROSS JOIN type t CROSS JOIN workspace w
WHERE (e.src, e.tid, e.dst) > (?, ?, ?) AND s.nid = e.src AND d.nid = e.dst AND t.tid = e.tid AND w.wid = s.wid
ORDER BY e.src, e.tid, e.dst LIMIT ?`;

const factsSql = `
SELECT f.oid, f.source, f.type, f.fact, o.session, w.name AS workspace
FROM session_fact f CROSS JOIN owner o CROSS JOIN workspace w
WHERE (f.oid, f.source, f.type) > (?, ?, ?) AND o.oid = f.oid AND w.wid = o.wid
ORDER BY f.oid, f.source, f.type LIMIT ?`;

const rowsSql = `
SELECT key, root_id, position, sha256 FROM applied_row WHERE key > ? ORDER BY key LIMIT ?`;

/** The graph of a root that nobody serves, page by page, in the order of its own numbers. */
export function openCopySource(path: string, pageRows: number = pageRowsDefault): CopySourceGraph {
  const { database, opened } = openForReading({ path });
  const reader = new PageReader(database, pageRows);
  return {
    identity: () => Promise.resolve(opened),
    mark: () => Promise.resolve(readMark(database)),
    page: (phase, after) => Promise.resolve(reader.page(phase, after)),
    digest: () => Promise.resolve(digestOf(database)),
    close() {
      database.close();
      return Promise.resolve();
    },
  };
}

function readMark(database: DatabaseSync): FenceMark | undefined {
  const row = database.prepare('SELECT domain, generation, holder FROM fence_mark').get();
  return row as FenceMark | undefined;
}

type SqlRow = Readonly<Record<string, unknown>>;

class PageReader {
  readonly #database: DatabaseSync;
  readonly #graph: StoredGraph;
  readonly #pageRows: number;

  constructor(database: DatabaseSync, pageRows: number) {
    this.#database = database;
    this.#pageRows = pageRows;
    this.#graph = new StoredGraph(database);
  }

  page(phase: CopyPhase, after: string): CopyPage | undefined {
    switch (phase) {
      case 'nodes':
        return this.#nodes(after);
      case 'edges':
        return this.#edges(after);
      case 'facts':
        return this.#facts(after);
      case 'rows':
        return this.#rows(after);
    }
  }

  #nodes(after: string): CopyPage | undefined {
    const rows = this.#database
      .prepare(nodesSql)
      .all(Number(after === '' ? 0 : after), this.#pageRows);
    return pageOf(
      rows,
      ({ nid }) => String(nid),
      (workspace, some) => {
        const nodes = new Map<string, NodeChange>();
        const conceptSources: ConceptSource[] = [];
        for (const { nid, id } of some) {
          const state = this.#graph.node(workspace, String(id));
          if (state === undefined) continue;
          nodes.set(String(id), { before: undefined, after: state });
          for (const named of this.#database.prepare(sourcesSql).all(Number(nid)))
            conceptSources.push({
              id: String(id),
              session: String(named['session']),
              occurredAt: String(named['occurred_at']),
            });
        }
        return { ...nothingChanged, nodes, conceptSources };
      },
    );
  }

  #edges(after: string): CopyPage | undefined {
    const [src = 0, tid = 0, dst = 0] = after === '' ? [] : (JSON.parse(after) as number[]);
    const rows = this.#database.prepare(edgesSql).all(src, tid, dst, this.#pageRows);
    const next = (row: SqlRow): string => JSON.stringify([row['src'], row['tid'], row['dst']]);
    return pageOf(rows, next, (_, some) => {
      const edges = new Map<string, EdgeChange>();
      for (const row of some) edges.set(next(row), edgeOf(row));
      return { ...nothingChanged, edges };
    });
  }

  #facts(after: string): CopyPage | undefined {
    const [oid = 0, source = '', type = ''] =
      after === '' ? [] : (JSON.parse(after) as [number, string, string]);
    const rows = this.#database.prepare(factsSql).all(oid, source, type, this.#pageRows);
    const next = (row: SqlRow): string => JSON.stringify([row['oid'], row['source'], row['type']]);
    return pageOf(rows, next, (_, some) => ({
      ...nothingChanged,
      factChanges: some.map((row): FactChange => ({
        about: String(row['session']),
        source: String(row['source']),
        fact: storedJson<SessionFact>(String(row['fact'])),
      })),
    }));
  }

  #rows(after: string): CopyPage | undefined {
    const found = this.#database.prepare(rowsSql).all(after, this.#pageRows);
    const rows = new Map<Key, AppliedRow>();
    for (const { key, root_id: rootId, position, sha256 } of found)
      rows.set(String(key) as Key, {
        rootId: String(rootId),
        position: String(position) as Position,
        sha256: String(sha256),
      });
    const last = [...rows.keys()].at(-1);
    if (last === undefined) return undefined;
    return { changes: new Map(), rows, next: last, count: rows.size };
  }
}

function edgeOf(row: SqlRow): EdgeChange {
  const { occurred_at: time } = row;
  return {
    from: String(row['source']),
    type: String(row['type']),
    to: String(row['target']),
    isReplaced: false,
    state: {
      properties: storedJson<Properties>(String(row['props'])),
      occurredAt: typeof time === 'string' ? time : undefined,
    },
  };
}

function pageOf(
  rows: readonly SqlRow[],
  next: (row: SqlRow) => string,
  changesOf: (workspace: string, rows: readonly SqlRow[]) => GroupChanges,
): CopyPage | undefined {
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  const byWorkspace = Map.groupBy(rows, (row) => String(row['workspace']));
  const changes = new Map(
    [...byWorkspace].map(([workspace, some]) => [workspace, changesOf(workspace, some)]),
  );
  return { changes, rows: new Map(), next: next(last), count: rows.length };
}
