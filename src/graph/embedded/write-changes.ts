import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { assert, canonicalJson, type JsonValue } from '#base';
import type { EdgeChange, GroupChanges, NodeChange } from '../group-changes.ts';
import { propertiesText } from '../merge-node.ts';
import type { NodeState } from '../node-state.ts';
import { StoredNode, type StoredGraph } from './stored-graph.ts';

/**
 * An edge merges where it lands: the earliest time, the smaller of two property texts, as `mergeEdge` does. Nothing is written where nothing
 * changes, which is what makes a replay cheap; the added 'Z' makes any time smaller than none.
 */
const mergeEdgeSql = `
INSERT INTO edge (src, tid, dst, props, occurred_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (src, tid, dst) DO UPDATE SET
  props = min(props, excluded.props),
  occurred_at = coalesce(min(occurred_at, excluded.occurred_at), occurred_at, excluded.occurred_at)
WHERE excluded.props < props
  OR excluded.occurred_at < coalesce(occurred_at, excluded.occurred_at || 'Z')`;

const writeFactSql = `
INSERT INTO session_fact (oid, source, type, fact) VALUES (?, ?, ?, ?)
ON CONFLICT (oid, source, type) DO UPDATE SET fact = excluded.fact WHERE fact <> excluded.fact`;

const writeSourceSql = `
INSERT INTO concept_source (nid, oid, occurred_at) VALUES (?, ?, ?)
ON CONFLICT (nid, oid) DO UPDATE SET occurred_at = excluded.occurred_at
WHERE excluded.occurred_at < occurred_at`;

/** Carries out what a merge has computed, inside the caller's transaction. */
export class ChangeWriter {
  readonly #graph: StoredGraph;
  readonly #insertNode: StatementSync;
  readonly #updateNode: StatementSync;
  readonly #putLabel: StatementSync;
  readonly #deleteLabel: StatementSync;
  readonly #mergeEdge: StatementSync;
  readonly #deleteEdge: StatementSync;
  readonly #writeFact: StatementSync;
  readonly #writeSource: StatementSync;
  readonly #deleteSource: StatementSync;
  readonly #deleteUnnamed: StatementSync;
  readonly #deleteLabels: StatementSync;

  constructor(database: DatabaseSync, graph: StoredGraph) {
    this.#graph = graph;
    this.#insertNode = database.prepare(
      'INSERT INTO node (wid, id, oid, is_stub, props, derived) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#updateNode = database.prepare(
      'UPDATE node SET oid = ?, is_stub = ?, props = ?, derived = ? WHERE nid = ?',
    );
    this.#putLabel = database.prepare(
      'INSERT INTO node_label (nid, lid, sources) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET sources = excluded.sources',
    );
    this.#deleteLabel = database.prepare('DELETE FROM node_label WHERE nid = ? AND lid = ?');
    this.#mergeEdge = database.prepare(mergeEdgeSql);
    this.#deleteEdge = database.prepare('DELETE FROM edge WHERE src = ? AND tid = ? AND dst = ?');
    this.#writeFact = database.prepare(writeFactSql);
    this.#writeSource = database.prepare(writeSourceSql);
    this.#deleteSource = database.prepare('DELETE FROM concept_source WHERE nid = ? AND oid = ?');
    this.#deleteUnnamed = database.prepare(
      'DELETE FROM node WHERE nid = ? AND NOT EXISTS (SELECT 1 FROM concept_source WHERE nid = ?)',
    );
    this.#deleteLabels = database.prepare('DELETE FROM node_label WHERE nid = ?');
  }

  write(workspace: string, changes: GroupChanges): void {
    const wid = this.#graph.workspaces.numberOf(workspace);
    const numbers = new Map<string, number>();
    for (const [id, change] of changes.nodes) numbers.set(id, this.#writeNode(wid, id, change));
    for (const change of changes.edges.values()) this.#writeEdge(numbers, wid, change);
    for (const { about, source, fact } of changes.factChanges) {
      const oid = this.#graph.owners.numberOf(wid, about);
      this.#writeFact.run(oid, source, fact.type, canonicalJson(fact as JsonValue));
    }
    this.#writeSources(wid, numbers, changes.conceptSources);
  }

  /** Those who name a concept come first, so that one which passes from one session to another is not gone in between. */
  #writeSources(
    wid: number,
    numbers: ReadonlyMap<string, number>,
    sources: GroupChanges['conceptSources'],
  ): void {
    const gone = sources.filter(({ occurredAt }) => occurredAt === undefined);
    for (const { id, session, occurredAt } of sources) {
      if (occurredAt === undefined) continue;
      const oid = this.#graph.owners.numberOf(wid, session);
      this.#writeSource.run(numberOf(numbers, id), oid, occurredAt);
    }
    for (const { id, session } of gone) {
      const nid = numbers.get(id) ?? this.#findNode(wid, id);
      if (nid === undefined) continue;
      this.#deleteSource.run(nid, this.#graph.owners.numberOf(wid, session));
      if (this.#deleteUnnamed.run(nid, nid).changes > 0) this.#deleteLabels.run(nid);
    }
  }

  #writeNode(wid: number, id: string, { before, after }: NodeChange): number {
    if (before === undefined) return this.#addNode(wid, id, after);
    assert(before instanceof StoredNode, 'the state before a group comes from the file');
    if (after !== before) {
      const texts = [propertiesText(after.properties), derivedText(after)] as const;
      const isSame =
        texts[0] === before.propsText &&
        texts[1] === before.derivedText &&
        after.isWritten === before.isWritten;
      if (!isSame) {
        const oid = this.#ownerNumber(wid, after);
        this.#updateNode.run(oid, after.isWritten ? 0 : 1, ...texts, before.nid);
      }
      this.#writeLabels(before.nid, before.labels, after.labels);
    }
    return before.nid;
  }

  #addNode(wid: number, id: string, state: NodeState): number {
    const oid = this.#ownerNumber(wid, state);
    const text = propertiesText(state.properties);
    const isStub = state.isWritten ? 0 : 1;
    const { lastInsertRowid } = this.#insertNode.run(
      wid,
      id,
      oid,
      isStub,
      text,
      derivedText(state),
    );
    const nid = Number(lastInsertRowid);
    this.#writeLabels(nid, new Map(), state.labels);
    return nid;
  }

  #ownerNumber(wid: number, state: NodeState): number | null {
    return state.owner === null ? null : this.#graph.owners.numberOf(wid, state.owner);
  }

  #writeLabels(
    nid: number,
    before: ReadonlyMap<string, number>,
    after: ReadonlyMap<string, number>,
  ): void {
    if (after === before) return;
    for (const [label, sources] of after) {
      if (before.get(label) !== sources)
        this.#putLabel.run(nid, this.#graph.labels.numberOf(label), sources);
    }
    for (const label of before.keys()) {
      if (!after.has(label)) this.#deleteLabel.run(nid, this.#graph.labels.numberOf(label));
    }
  }

  #writeEdge(numbers: ReadonlyMap<string, number>, wid: number, change: EdgeChange): void {
    const { from, type, to, isReplaced, state } = change;
    const [src, dst] = [from, to].map((id) => numbers.get(id) ?? this.#findNode(wid, id));
    if (src === undefined || dst === undefined) {
      assert(state === undefined, `edge ${from} -${type}-> ${to} has no end`);
      return;
    }
    const tid = this.#graph.types.numberOf(type);
    if (isReplaced) this.#deleteEdge.run(src, tid, dst);
    if (state === undefined) return;
    this.#mergeEdge.run(src, tid, dst, propertiesText(state.properties), state.occurredAt ?? null);
  }

  /** Ends of an edge that is taken away need not be among the changed nodes. */
  #findNode(wid: number, id: string): number | undefined {
    return this.#graph.node(this.#graph.workspaces.nameOf(wid), id)?.nid;
  }
}

function derivedText(state: NodeState): string | null {
  const text = propertiesText(state.derived);
  return text === '{}' ? null : text;
}

function numberOf(numbers: ReadonlyMap<string, number>, id: string): number {
  const nid = numbers.get(id);
  assert(nid !== undefined, `node ${id} was not written`);
  return nid;
}
