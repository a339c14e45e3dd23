import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { sessionNodeId } from '#record';
import { deriveAgain } from '../derive-again.ts';
import type { ToldFact } from '../derive/derive-session.ts';
import { derivedEdgeTypes } from '../merge-group.ts';
import { labelSource } from '../node-state.ts';
import type { SessionFact } from '../mutation.ts';
import type { GraphRemovalCounts, RemovedSession, SessionSurvey } from '../removal.ts';
import { objectsIn } from './object-references.ts';
import type { StoredGraph } from './stored-graph.ts';
import type { ChangeWriter } from './write-changes.ts';
import { storedJson } from '../stored-json.ts';

/** Kinds of nodes that other sessions may speak of (ING-615), by the label of each. */
const spokenOf = {
  Session: ['Session'],
  Delegation: ['Delegation', 'SST_EVENT'],
} as const;

/** Of a node: headers of its row and of its entry in the index of ids, and two labels with their index. */
const nodeOverheadBytes = 90;
/** An edge in both its indexes. */
const edgeBytes = 50;

const highest = '\u{10ffff}';

/** Takes sessions out of the file, inside the caller's transaction. */
export class SessionRemover {
  readonly #database: DatabaseSync;
  readonly #graph: StoredGraph;
  readonly #changes: ChangeWriter;

  constructor(database: DatabaseSync, graph: StoredGraph, changes: ChangeWriter) {
    this.#database = database;
    this.#graph = graph;
    this.#changes = changes;
  }

  survey(workspace: string, session: string): SessionSurvey {
    const wid = this.#graph.workspaces.find(workspace);
    const oid = wid === undefined ? undefined : this.#graph.owners.find(wid, session);
    if (wid === undefined || oid === undefined) return { nodes: 0, bytes: 0, objects: [] };
    const first = sessionNodeId(session);
    const rows = this.#database
      .prepare('SELECT props FROM node WHERE wid = ? AND id >= ? AND id < ? AND oid = ?')
      .all(wid, first, `${first}${highest}`, oid);
    const objects = new Set(rows.flatMap((row) => objectsIn(String(row['props']))));
    return { nodes: rows.length, bytes: this.#bytesOf(wid, first, oid), objects: [...objects] };
  }

  /** A row of each table and of each index counts what SQLite writes beside its texts; pages that are not full are left out. */
  #bytesOf(wid: number, first: string, oid: number): number {
    const [row] = this.#database
      .prepare(
        `SELECT coalesce(sum(2 * length(CAST(n.id AS BLOB)) + length(CAST(n.props AS BLOB))
             + coalesce(length(CAST(n.derived AS BLOB)), 0) + ${nodeOverheadBytes}
             + ${edgeBytes} * (SELECT count(*) FROM edge e WHERE e.src = n.nid)), 0) AS bytes
         FROM node n WHERE n.wid = ? AND n.id >= ? AND n.id < ? AND n.oid = ?`,
      )
      .all(wid, first, `${first}${highest}`, oid);
    return Number(row?.['bytes'] ?? 0);
  }

  descendants(workspace: string, session: string): readonly string[] {
    const wid = this.#graph.workspaces.find(workspace);
    if (wid === undefined) return [];
    const types = derivedEdgeTypes.map((type) => `'${type}'`).join(', ');
    const rows = this.#database
      .prepare(
        `WITH RECURSIVE below (nid, oid) AS (
           SELECT nid, oid FROM node WHERE wid = ? AND id = ?
           UNION
           SELECT n.nid, n.oid FROM below CROSS JOIN edge e CROSS JOIN node n
           WHERE e.src = below.nid AND e.tid IN (SELECT tid FROM type WHERE name IN (${types}))
             AND n.nid = e.dst
         )
         SELECT o.session FROM below CROSS JOIN owner o WHERE o.oid = below.oid`,
      )
      .all(wid, sessionNodeId(session));
    return rows.map((row) => String(row['session'])).filter((name) => name !== session);
  }

  remove(sessions: readonly RemovedSession[]): GraphRemovalCounts {
    const forgetRow = this.#database.prepare('DELETE FROM applied_row WHERE key = ?');
    for (const { key } of sessions) forgetRow.run(key);
    let [nodes, edges] = [0, 0];
    for (const [workspace, some] of Map.groupBy(sessions, (one) => one.workspace)) {
      const wid = this.#graph.workspaces.find(workspace);
      if (wid === undefined) continue;
      const removal = new WorkspaceRemoval(this.#database, this.#graph, wid);
      const owners = some.flatMap(({ session }) => {
        const oid = this.#graph.owners.find(wid, session);
        return oid === undefined ? [] : [{ oid, session }];
      });
      if (owners.length === 0) continue;
      const lost = removal.takeFacts(owners);
      const counts = removal.takeNodes(owners);
      nodes += counts.nodes;
      edges += counts.edges;
      const changes = deriveAgain(this.#graph, workspace, lost, (session) => {
        const oid = this.#graph.owners.find(wid, session);
        return oid !== undefined && removal.isThere(oid, session);
      });
      this.#changes.write(workspace, changes);
      removal.sweep(new Set([...lost.keys(), ...owners.map(({ session }) => session)]));
    }
    return { nodes, edges };
  }
}

interface OwnerRow {
  readonly oid: number;
  readonly session: string;
}

/** What goes in one workspace. */
class WorkspaceRemoval {
  readonly #database: DatabaseSync;
  readonly #graph: StoredGraph;
  readonly #wid: number;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync, graph: StoredGraph, wid: number) {
    this.#database = database;
    this.#graph = graph;
    this.#wid = wid;
    database.exec(`CREATE TEMP TABLE IF NOT EXISTS removed (nid INTEGER PRIMARY KEY);
      CREATE TEMP TABLE IF NOT EXISTS beside (nid INTEGER PRIMARY KEY);
      DELETE FROM removed; DELETE FROM beside;`);
  }

  /** Everything that the sessions told, and who it was about; those that the sessions own go too when nobody else told them. */
  takeFacts(owners: readonly OwnerRow[]): Map<string, ToldFact[]> {
    for (const { oid, session } of owners) {
      const first = sessionNodeId(session);
      this.#run(
        'INSERT OR IGNORE INTO removed SELECT nid FROM node WHERE wid = ? AND id >= ? AND id < ? AND oid = ?',
        [this.#wid, first, `${first}${highest}`, oid],
      );
    }
    const told = this.#all(
      `SELECT f.oid, f.source, f.type, f.fact FROM session_fact f CROSS JOIN node n
       WHERE n.wid = ? AND n.id = f.source AND n.nid IN (SELECT nid FROM removed)
         AND f.oid IN (SELECT oid FROM owner WHERE wid = ?)`,
      [this.#wid, this.#wid],
    );
    const lost = new Map<string, ToldFact[]>(owners.map(({ session }) => [session, []]));
    for (const row of told) {
      this.#run('DELETE FROM session_fact WHERE oid = ? AND source = ? AND type = ?', [
        Number(row['oid']),
        String(row['source']),
        String(row['type']),
      ]);
      const about = this.#graph.owners.sessionOf(Number(row['oid']));
      const facts = lost.get(about) ?? [];
      facts.push({
        source: String(row['source']),
        fact: storedJson<SessionFact>(String(row['fact'])),
      });
      lost.set(about, facts);
    }
    for (const facts of lost.values())
      for (const { fact } of facts)
        if ('parent' in fact && fact.parent !== null && !lost.has(fact.parent))
          lost.set(fact.parent, []);
    return lost;
  }

  /** Nodes and edges; those that others speak of become stubs. Edges of a stub stay where a written node of another session is their other end. */
  takeNodes(owners: readonly OwnerRow[]): GraphRemovalCounts {
    this.#run(
      `INSERT OR IGNORE INTO beside SELECT other FROM (
         SELECT dst AS other FROM edge WHERE src IN (SELECT nid FROM removed)
         UNION SELECT src FROM edge WHERE dst IN (SELECT nid FROM removed))
       WHERE other NOT IN (SELECT nid FROM removed)`,
      [],
    );
    const edges = this.#dropEdges();
    this.#dropConcepts(owners);
    this.#keepStubs(owners);
    this.#run('DELETE FROM node_label WHERE nid IN (SELECT nid FROM removed)', []);
    this.#run('DELETE FROM node WHERE nid IN (SELECT nid FROM removed)', []);
    return { nodes: this.#count('SELECT count(*) AS n FROM removed'), edges };
  }

  /** Of the edges with one end here, those that only the other session can have drawn stay. */
  #dropEdges(): number {
    const session = this.#labelNumber('Session');
    const delegation = this.#labelNumber('Delegation');
    const result = this.#run(
      `DELETE FROM edge WHERE (src IN (SELECT nid FROM removed) OR dst IN (SELECT nid FROM removed))
       AND NOT (
         EXISTS (SELECT 1 FROM node m WHERE m.is_stub = 0 AND m.nid NOT IN (SELECT nid FROM removed)
           AND m.oid IS NOT NULL AND m.nid = CASE WHEN src IN (SELECT nid FROM removed) THEN dst ELSE src END)
         AND EXISTS (SELECT 1 FROM node_label l WHERE l.lid IN (?, ?)
           AND l.nid = CASE WHEN src IN (SELECT nid FROM removed) THEN src ELSE dst END)
         AND NOT (src IN (SELECT nid FROM removed) AND dst IN (SELECT nid FROM removed))
         AND tid NOT IN (SELECT tid FROM type WHERE name IN ('HAS_AGENT'))
         AND NOT (dst IN (SELECT nid FROM removed) AND tid IN (SELECT tid FROM type WHERE name IN (${derivedEdgeTypes.map((type) => `'${type}'`).join(', ')})))
         AND NOT (src IN (SELECT nid FROM removed) AND tid IN (SELECT tid FROM type WHERE name = 'ENCOMPASSES')
           AND NOT EXISTS (SELECT 1 FROM session_fact f CROSS JOIN node d
             WHERE d.nid = src AND f.oid = d.oid AND json_extract(f.fact, '$.delegation') = d.id))
       )`,
      [session, delegation],
    );
    return Number(result.changes);
  }

  /** Concepts that only these sessions named are gone. */
  #dropConcepts(owners: readonly OwnerRow[]): void {
    for (const { oid } of owners) {
      const named = this.#all('SELECT nid FROM concept_source WHERE oid = ?', [oid]);
      this.#run('DELETE FROM concept_source WHERE oid = ?', [oid]);
      for (const { nid } of named) {
        const gone = this.#run(
          'DELETE FROM node WHERE nid = ? AND NOT EXISTS (SELECT 1 FROM concept_source WHERE nid = ?)',
          [Number(nid), Number(nid)],
        );
        if (Number(gone.changes) > 0)
          this.#run('DELETE FROM node_label WHERE nid = ?', [Number(nid)]);
      }
    }
  }

  /** Nodes of which others still tell leave the list of those that go, and lose what their owner wrote. */
  #keepStubs(owners: readonly OwnerRow[]): void {
    for (const { oid, session } of owners) {
      const ids = new Set<string>([
        ...(this.isThere(oid, session) ? [sessionNodeId(session)] : []),
        ...this.#all(
          "SELECT json_extract(fact, '$.delegation') AS id FROM session_fact WHERE oid = ?",
          [oid],
        )
          .map((row) => row['id'])
          .filter((id) => typeof id === 'string'),
        ...this.#all(
          `SELECT id FROM node n WHERE n.oid = ? AND n.nid IN (SELECT nid FROM removed)
             AND (EXISTS (SELECT 1 FROM edge WHERE src = n.nid) OR EXISTS (SELECT 1 FROM edge WHERE dst = n.nid))`,
          [oid],
        ).map((row) => String(row['id'])),
      ]);
      for (const id of ids) this.#makeStub(id);
    }
  }

  /** A node of the session is left: it is another one, or facts of others are about it, or their edges lead to it. */
  isThere(oid: number, session: string): boolean {
    if (this.#isParent(session)) return true;
    if (this.#all('SELECT 1 FROM session_fact WHERE oid = ? LIMIT 1', [oid]).length > 0)
      return true;
    return (
      this.#all(
        `SELECT 1 FROM node n WHERE n.wid = ? AND n.id = ?
           AND (n.is_stub = 0 AND n.nid NOT IN (SELECT nid FROM removed)
             OR EXISTS (SELECT 1 FROM edge WHERE src = n.nid) OR EXISTS (SELECT 1 FROM edge WHERE dst = n.nid)) LIMIT 1`,
        [this.#wid, sessionNodeId(session)],
      ).length > 0
    );
  }

  /** Somebody names it as a parent, chosen or not: its stub is there as soon as a fact does. */
  #isParent(session: string): boolean {
    return (
      this.#all(
        `SELECT 1 FROM session_fact f CROSS JOIN owner o WHERE o.oid = f.oid AND o.wid = ?
           AND f.type IN ('started', 'forked') AND json_extract(f.fact, '$.parent') = ? LIMIT 1`,
        [this.#wid, session],
      ).length > 0
    );
  }

  #makeStub(id: string): void {
    const [node] = this.#all(
      'SELECT nid FROM node WHERE wid = ? AND id = ? AND nid IN (SELECT nid FROM removed)',
      [this.#wid, id],
    );
    if (node === undefined) return;
    const nid = Number(node['nid']);
    const kind = this.#all('SELECT 1 FROM node_label WHERE nid = ? AND lid = ?', [
      nid,
      this.#labelNumber('Delegation'),
    ]);
    const labels = kind.length > 0 ? spokenOf.Delegation : spokenOf.Session;
    this.#run("UPDATE node SET is_stub = 1, props = '{}', derived = NULL WHERE nid = ?", [nid]);
    this.#run('DELETE FROM node_label WHERE nid = ?', [nid]);
    for (const label of labels)
      this.#run('INSERT INTO node_label (nid, lid, sources) VALUES (?, ?, ?)', [
        nid,
        this.#labelNumber(label),
        labelSource.stub,
      ]);
    this.#run('DELETE FROM removed WHERE nid = ?', [nid]);
  }

  /** Stubs that only these sessions spoke of: the ends of their edges, and the sessions that their facts were about. */
  sweep(sessions: ReadonlySet<string>): void {
    for (const session of sessions)
      this.#run('INSERT OR IGNORE INTO beside SELECT nid FROM node WHERE wid = ? AND id = ?', [
        this.#wid,
        sessionNodeId(session),
      ]);
    const candidates = this.#all(
      `SELECT n.nid, n.id, n.oid FROM node n WHERE n.nid IN (SELECT nid FROM beside) AND n.is_stub = 1
         AND n.oid IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM edge WHERE src = n.nid) AND NOT EXISTS (SELECT 1 FROM edge WHERE dst = n.nid)`,
      [],
    );
    for (const { nid, id, oid } of candidates) {
      const session = this.#graph.owners.sessionOf(Number(oid));
      const isSession = String(id) === sessionNodeId(session);
      const isHeld = isSession
        ? this.#all('SELECT 1 FROM session_fact WHERE oid = ? LIMIT 1', [Number(oid)]).length > 0 ||
          this.#isParent(session)
        : this.#all(
            "SELECT 1 FROM session_fact WHERE oid = ? AND json_extract(fact, '$.delegation') = ? LIMIT 1",
            [Number(oid), String(id)],
          ).length > 0;
      if (isHeld) continue;
      this.#run('DELETE FROM node_label WHERE nid = ?', [Number(nid)]);
      this.#run('DELETE FROM node WHERE nid = ?', [Number(nid)]);
    }
  }

  #labelNumber(name: string): number {
    return this.#graph.labels.numberOf(name);
  }

  #count(sql: string): number {
    return Number(this.#all(sql, [])[0]?.['n'] ?? 0);
  }

  #all(sql: string, values: readonly (string | number)[]): readonly Record<string, unknown>[] {
    return this.#prepared(sql).all(...values) as Record<string, unknown>[];
  }

  #run(sql: string, values: readonly (string | number)[]): { readonly changes: number | bigint } {
    return this.#prepared(sql).run(...values);
  }

  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, known);
    return known;
  }
}
