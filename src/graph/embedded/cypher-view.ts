import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Direction, GraphView, Neighbour, NodeValue, WantedText } from '../cypher/index.ts';
import { Counts, Names } from './cypher-names.ts';
import { StoredNodeValue, StoredRelationship, type NodeReader } from './cypher-values.ts';

/** Nodes of one look at the database: a statement that stays open would be in the way of the next. */
const pageSize = 500;
/** Nodes that the database looks at by itself before the time is looked at. */
const textPageSize = 4_000;
/** Nodes that are remembered while one query runs. */
const nodesMax = 100_000;

const nodeColumns = 'n.nid AS nid, n.wid AS wid, n.id AS id';

/** What a JSON path of SQLite takes without a doubt; `node_id` and `workspace` are no properties of a row. */
function isPlainName(name: string): boolean {
  return /^\w+$/.test(name) && name !== 'node_id' && name !== 'workspace';
}

/** Rows of a scan: nid, wid, id, and the properties where they were asked for before. */
type ScanRow = readonly [nid: number, wid: number, id: string, visible?: string];

/** Edges at one side of a node, and those of one type, each by its index. */
interface EdgeStatements {
  readonly all: StatementSync;
  readonly ofType: StatementSync;
}

type EdgeRow = readonly [
  tid: number,
  props: string,
  at: string | null,
  nid: number,
  wid: number,
  id: string,
];

/** The graph of one connection as a query sees it: only the workspaces of its caller. */
export class CypherView implements GraphView {
  readonly #scans: Readonly<Record<'all' | 'label', readonly [StatementSync, StatementSync]>>;
  readonly #pageEnd: StatementSync;
  readonly #pageEndLabel: StatementSync;
  readonly #scanText: StatementSync;
  readonly #scanLabelText: StatementSync;
  readonly #counts: Counts;
  readonly #byId: StatementSync;
  readonly #labels: StatementSync;
  readonly #visible: StatementSync;
  readonly #out: EdgeStatements;
  readonly #in: EdgeStatements;
  readonly #names: Names;
  readonly #reader: NodeReader;
  #workspaces: ReadonlyMap<number, string> = new Map();
  #areAllSeen = false;
  #nodes = new Map<number, StoredNodeValue>();
  /** How often properties of a node had to be looked up one by one. */
  #lookups = 0;

  constructor(database: DatabaseSync) {
    const prepare = (sql: string): StatementSync => database.prepare(sql);
    this.#names = new Names(database);
    this.#counts = new Counts(database);
    const scan = (from: string, where: string, columns: string): StatementSync => {
      const statement = prepare(`SELECT ${columns} FROM ${from} WHERE ${where} LIMIT ${pageSize}`);
      statement.setReturnArrays(true);
      return statement;
    };
    const bothOf = (from: string, where: string): readonly [StatementSync, StatementSync] => [
      scan(from, where, nodeColumns),
      scan(from, where, `${nodeColumns}, n.visible AS visible`),
    ];
    this.#scans = {
      all: bothOf('node n', 'n.nid > ? ORDER BY n.nid'),
      label: bothOf(
        'node_label nl CROSS JOIN node n',
        'nl.lid = ? AND nl.nid > ? AND n.nid = nl.nid ORDER BY nl.nid',
      ),
    };
    const pageOf = (from: string): string =>
      `SELECT max(nid) AS end, count(*) AS count FROM (${from} ORDER BY nid LIMIT ${textPageSize})`;
    this.#pageEnd = prepare(pageOf('SELECT nid FROM node WHERE nid > ?'));
    this.#pageEndLabel = prepare(pageOf('SELECT nid FROM node_label WHERE lid = ? AND nid > ?'));
    this.#scanText = prepare(
      `SELECT ${nodeColumns} FROM node n
       WHERE n.nid > ? AND n.nid <= ? AND json_extract(n.visible, ?) = ? ORDER BY n.nid`,
    );
    this.#scanLabelText = prepare(
      `SELECT ${nodeColumns} FROM node_label nl CROSS JOIN node n
       WHERE nl.lid = ? AND nl.nid > ? AND nl.nid <= ? AND n.nid = nl.nid
         AND json_extract(n.visible, ?) = ? ORDER BY nl.nid`,
    );
    this.#byId = prepare(`SELECT ${nodeColumns} FROM node n WHERE n.wid = ? AND n.id = ?`);
    this.#labels = prepare('SELECT group_concat(lid) AS lids FROM node_label WHERE nid = ?');
    this.#visible = prepare('SELECT visible FROM node WHERE nid = ?');
    this.#reader = {
      labels: (nid) => this.#names.labelNames(String(this.#labels.get(nid)?.['lids'] ?? '')),
      visible: (nid) => {
        this.#lookups += 1;
        return String(this.#visible.get(nid)?.['visible'] ?? '{}');
      },
    };
    const edges = (near: 'src' | 'dst', far: 'src' | 'dst'): EdgeStatements => {
      const [all, ofType] = ['', 'AND e.tid = ?'].map((andType) => {
        const statement = prepare(
          `SELECT e.tid AS tid, e.props AS props, e.occurred_at AS at, ${nodeColumns}
           FROM edge e CROSS JOIN node n WHERE e.${near} = ? ${andType} AND n.nid = e.${far}`,
        );
        statement.setReturnArrays(true);
        return statement;
      });
      if (all === undefined || ofType === undefined) throw new RangeError('two statements');
      return { all, ofType };
    };
    this.#out = edges('src', 'dst');
    this.#in = edges('dst', 'src');
  }

  /** What a query sees from here on; undefined: all workspaces. */
  begin(workspaces: readonly string[] | undefined): void {
    this.#nodes = new Map();
    this.#names.forget();
    const all = this.#names.workspaces();
    this.#workspaces = new Map(
      [...all].filter(([, name]) => workspaces === undefined || workspaces.includes(name)),
    );
    this.#areAllSeen = this.#workspaces.size === all.size;
  }

  *nodes(label: string | undefined, wanted?: WantedText): Iterable<NodeValue> {
    const lid = label === undefined ? undefined : this.#names.label(label);
    if (label !== undefined && lid === undefined) return;
    if (wanted !== undefined && isPlainName(wanted.property)) {
      yield* this.#nodesWith(lid, wanted);
      return;
    }
    const statements = lid === undefined ? this.#scans.all : this.#scans.label;
    let isReadAhead = false;
    for (let last = 0; ;) {
      const before = this.#lookups;
      const statement = statements[isReadAhead ? 1 : 0];
      const rows = (lid === undefined
        ? statement.all(last)
        : statement.all(lid, last)) as unknown as readonly ScanRow[];
      for (const [nid, wid, id, visible] of rows) {
        const workspace = this.#workspaces.get(wid);
        // A scan meets each node once: remembering them all would push out those that are met again.
        if (workspace !== undefined)
          yield new StoredNodeValue({ nid, id, workspace, visible }, this.#reader);
      }
      const end = rows.at(-1);
      if (end === undefined || rows.length < pageSize) return;
      [last] = end;
      // Whoever asked for properties in this page will in the next: they are fetched together.
      isReadAhead ||= this.#lookups > before;
    }
  }

  exactCount(of: 'nodes' | 'relationships', name: string | undefined): number | undefined {
    if (of === 'nodes') {
      const lid = name === undefined ? undefined : this.#names.label(name);
      if (name !== undefined && lid === undefined) return 0;
      if (lid !== undefined) return this.#areAllSeen ? this.#counts.ofLabel(lid) : undefined;
      return this.#counts.ofNodes([...this.#workspaces.keys()]);
    }
    const tid = name === undefined ? undefined : this.#names.type(name);
    if (name !== undefined && tid === undefined) return 0;
    return this.#areAllSeen ? this.#counts.ofEdges(tid) : undefined;
  }

  /** The database looks at the property, some thousand nodes at a time, so that the time limit still holds. */
  *#nodesWith(
    lid: number | undefined,
    { property, text, passed }: WantedText,
  ): Iterable<NodeValue> {
    const path = `$."${property}"`;
    for (let last = 0; ;) {
      const page = lid === undefined ? this.#pageEnd.get(last) : this.#pageEndLabel.get(lid, last);
      const { end, count } = page as { readonly end: number | null; readonly count: number };
      if (end === null) return;
      const rows =
        lid === undefined
          ? this.#scanText.all(last, end, path, text)
          : this.#scanLabelText.all(lid, last, end, path, text);
      passed(count);
      for (const row of rows) {
        const node = this.#node(row);
        if (node !== undefined) yield node;
      }
      last = end;
    }
  }

  countNodes(label: string | undefined): number {
    const lid = label === undefined ? undefined : this.#names.label(label);
    if (label === undefined) return Number.MAX_SAFE_INTEGER;
    return lid === undefined ? 0 : this.#counts.upTo(lid);
  }

  nodesById(id: string): readonly NodeValue[] {
    return [...this.#workspaces.keys()].flatMap((wid) => {
      const row = this.#byId.get(wid, id);
      const node = row === undefined ? undefined : this.#node(row);
      return node === undefined ? [] : [node];
    });
  }

  *neighbours(
    node: NodeValue,
    direction: Direction,
    types: readonly string[] | undefined,
  ): Iterable<Neighbour> {
    const tids = types?.map((type) => this.#names.type(type)) ?? [null];
    for (const tid of tids) {
      if (tid === undefined) continue;
      if (direction !== 'in') yield* this.#edges(this.#out, node, tid, true, false);
      // A loop was found on the way out.
      if (direction !== 'out') yield* this.#edges(this.#in, node, tid, false, direction === 'both');
    }
  }

  *#edges(
    { all, ofType }: EdgeStatements,
    node: NodeValue,
    tid: number | null,
    isOut: boolean,
    areLoopsLeftOut: boolean,
  ): Iterable<Neighbour> {
    const found = tid === null ? all.all(node.nid) : ofType.all(node.nid, tid);
    for (const row of found as unknown as readonly EdgeRow[]) {
      const [ownTid, props, at, nid, wid, id] = row;
      const other = this.#nodeOf(nid, wid, id);
      if (other === undefined || (areLoopsLeftOut && other.nid === node.nid)) continue;
      const [from, to] = isOut ? [node, other] : [other, node];
      const type = this.#names.typeName(ownTid);
      yield { relationship: new StoredRelationship(from, type, to, { props, at }), node: other };
    }
  }

  #node(row: Readonly<Record<string, unknown>>): StoredNodeValue | undefined {
    return this.#nodeOf(Number(row['nid']), Number(row['wid']), String(row['id']));
  }

  #nodeOf(nid: number, wid: number, id: string): StoredNodeValue | undefined {
    const known = this.#nodes.get(nid);
    if (known !== undefined) return known;
    const workspace = this.#workspaces.get(wid);
    if (workspace === undefined) return undefined;
    const node = new StoredNodeValue({ nid, id, workspace, visible: undefined }, this.#reader);
    if (this.#nodes.size >= nodesMax) this.#nodes = new Map();
    this.#nodes.set(nid, node);
    return node;
  }
}
