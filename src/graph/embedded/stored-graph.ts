import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { agentEdgeType } from '../derive-agents.ts';
import type { ToldFact } from '../derive/derive-session.ts';
import type { GraphReader, StoredParentEdge } from '../group-changes.ts';
import { derivedEdgeTypes } from '../merge-group.ts';
import type { Properties, SessionFact } from '../mutation.ts';
import type { NodeState } from '../node-state.ts';
import { Dictionary, Owners } from './dictionary.ts';
import { storedJson } from '../stored-json.ts';

/** The graph as the writer's transaction sees it. */
export class StoredGraph implements GraphReader {
  readonly workspaces: Dictionary;
  readonly labels: Dictionary;
  readonly types: Dictionary;
  readonly owners: Owners;
  readonly #node: StatementSync;
  readonly #labels: StatementSync;
  readonly #facts: StatementSync;
  readonly #agents: StatementSync;
  readonly #parents: StatementSync;

  constructor(database: DatabaseSync) {
    this.workspaces = new Dictionary(database, 'workspace', 'wid');
    this.labels = new Dictionary(database, 'label', 'lid');
    this.types = new Dictionary(database, 'type', 'tid');
    this.owners = new Owners(database);
    this.#node = database.prepare(
      'SELECT nid, oid, is_stub, props, derived FROM node WHERE wid = ? AND id = ?',
    );
    this.#labels = database.prepare('SELECT lid, sources FROM node_label WHERE nid = ?');
    this.#facts = database.prepare('SELECT source, fact FROM session_fact WHERE oid = ?');
    this.#agents = database.prepare(
      `SELECT d.id FROM node s CROSS JOIN edge e CROSS JOIN node d
       WHERE s.wid = ? AND s.id = ? AND e.src = s.nid AND e.tid = ? AND d.nid = e.dst`,
    );
    this.#parents = database.prepare(
      `SELECT s.id, e.occurred_at FROM node d CROSS JOIN edge e CROSS JOIN node s
       WHERE d.wid = ? AND d.id = ? AND e.dst = d.nid AND e.tid = ? AND s.nid = e.src`,
    );
  }

  node(workspace: string, id: string): StoredNode | undefined {
    const wid = this.workspaces.find(workspace);
    const row = wid === undefined ? undefined : this.#node.get(wid, id);
    return row === undefined
      ? undefined
      : new StoredNode(this, row as unknown as NodeRow, (nid) => this.#readLabels(nid));
  }

  facts(workspace: string, session: string): readonly ToldFact[] {
    const wid = this.workspaces.find(workspace);
    const oid = wid === undefined ? undefined : this.owners.find(wid, session);
    if (oid === undefined) return [];
    return this.#facts.all(oid).map((row) => ({
      source: String(row['source']),
      fact: storedJson<SessionFact>(String(row['fact'])),
    }));
  }

  agents(workspace: string, sessionNode: string): readonly string[] {
    const wid = this.workspaces.find(workspace);
    const tid = this.types.find(agentEdgeType);
    if (wid === undefined || tid === undefined) return [];
    return this.#agents.all(wid, sessionNode, tid).map((row) => String(row['id']));
  }

  parentEdges(workspace: string, sessionNode: string): readonly StoredParentEdge[] {
    const wid = this.workspaces.find(workspace);
    if (wid === undefined) return [];
    return derivedEdgeTypes.flatMap((type) => {
      const tid = this.types.find(type);
      if (tid === undefined) return [];
      return this.#parents.all(wid, sessionNode, tid).map((row) => ({
        from: String(row['id']),
        type,
        occurredAt: row['occurred_at'] === null ? undefined : String(row['occurred_at']),
      }));
    });
  }

  /** After a transaction that failed: numbers that it gave out do not exist. */
  forget(): void {
    this.workspaces.forget();
    this.labels.forget();
    this.types.forget();
    this.owners.forget();
  }

  #readLabels(nid: number): ReadonlyMap<string, number> {
    const rows = this.#labels.all(nid);
    return new Map(
      rows.map((row) => [this.labels.nameOf(Number(row['lid'])), Number(row['sources'])]),
    );
  }
}

interface NodeRow {
  readonly nid: number;
  readonly oid: number | null;
  readonly is_stub: number;
  readonly props: string;
  readonly derived: string | null;
}

/** A node of the file. The end of an edge is all that most of them are, so labels and properties are read when they are asked for. */
export class StoredNode implements NodeState {
  readonly nid: number;
  readonly propsText: string;
  readonly derivedText: string | null;
  readonly isWritten: boolean;
  readonly #oid: number | null;
  readonly #graph: StoredGraph;
  readonly #readLabels: (nid: number) => ReadonlyMap<string, number>;
  #labels: ReadonlyMap<string, number> | undefined;
  #properties: Properties | undefined;

  constructor(
    graph: StoredGraph,
    row: NodeRow,
    readLabels: (nid: number) => ReadonlyMap<string, number>,
  ) {
    this.nid = row.nid;
    this.propsText = row.props;
    this.derivedText = row.derived;
    this.isWritten = row.is_stub === 0;
    this.#oid = row.oid;
    this.#graph = graph;
    this.#readLabels = readLabels;
  }

  get owner(): string | null {
    return this.#oid === null ? null : this.#graph.owners.sessionOf(this.#oid);
  }

  get labels(): ReadonlyMap<string, number> {
    this.#labels ??= this.#readLabels(this.nid);
    return this.#labels;
  }

  get properties(): Properties {
    this.#properties ??= storedJson<Properties>(this.propsText);
    return this.#properties;
  }

  get derived(): Properties {
    return this.derivedText === null ? {} : storedJson<Properties>(this.derivedText);
  }
}
