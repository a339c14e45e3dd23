import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  CypherMap,
  valueOf,
  type Direction,
  type GraphView,
  type Neighbour,
  type NodeValue,
  type RelationshipValue,
  type WantedText,
} from '../cypher/index.ts';

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

/** The graph of one connection as a query sees it: only the workspaces of its caller. */
export class CypherView implements GraphView {
  readonly #scan: StatementSync;
  readonly #scanLabel: StatementSync;
  readonly #pageEnd: StatementSync;
  readonly #pageEndLabel: StatementSync;
  readonly #scanText: StatementSync;
  readonly #scanLabelText: StatementSync;
  readonly #countLabel: StatementSync;
  readonly #byId: StatementSync;
  readonly #labels: StatementSync;
  readonly #visible: StatementSync;
  readonly #out: StatementSync;
  readonly #in: StatementSync;
  readonly #names: Names;
  #workspaces: ReadonlyMap<number, string> = new Map();
  #nodes = new Map<number, StoredNodeValue>();

  constructor(database: DatabaseSync) {
    const prepare = (sql: string): StatementSync => database.prepare(sql);
    this.#names = new Names(database);
    this.#scan = prepare(
      `SELECT ${nodeColumns} FROM node n WHERE n.nid > ? ORDER BY n.nid LIMIT ${pageSize}`,
    );
    this.#scanLabel = prepare(
      `SELECT ${nodeColumns} FROM node_label nl CROSS JOIN node n
       WHERE nl.lid = ? AND nl.nid > ? AND n.nid = nl.nid ORDER BY nl.nid LIMIT ${pageSize}`,
    );
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
    this.#countLabel = prepare(
      'SELECT count(*) AS count FROM (SELECT 1 FROM node_label WHERE lid = ? LIMIT 10000)',
    );
    this.#byId = prepare(`SELECT ${nodeColumns} FROM node n WHERE n.wid = ? AND n.id = ?`);
    this.#labels = prepare(
      'SELECT l.name AS name FROM node_label nl CROSS JOIN label l WHERE nl.nid = ? AND l.lid = nl.lid',
    );
    this.#visible = prepare('SELECT visible FROM node WHERE nid = ?');
    this.#out = prepare(
      `SELECT e.tid AS tid, e.props AS props, e.occurred_at AS at, ${nodeColumns}
       FROM edge e CROSS JOIN node n WHERE e.src = ? AND (? IS NULL OR e.tid = ?) AND n.nid = e.dst`,
    );
    this.#in = prepare(
      `SELECT e.tid AS tid, e.props AS props, e.occurred_at AS at, ${nodeColumns}
       FROM edge e CROSS JOIN node n WHERE e.dst = ? AND (? IS NULL OR e.tid = ?) AND n.nid = e.src`,
    );
  }

  /** What a query sees from here on; undefined: all workspaces. */
  begin(workspaces: readonly string[] | undefined): void {
    this.#nodes = new Map();
    this.#names.forget();
    const all = this.#names.workspaces();
    this.#workspaces = new Map(
      [...all].filter(([, name]) => workspaces === undefined || workspaces.includes(name)),
    );
  }

  *nodes(label: string | undefined, wanted?: WantedText): Iterable<NodeValue> {
    const lid = label === undefined ? undefined : this.#names.label(label);
    if (label !== undefined && lid === undefined) return;
    if (wanted !== undefined && isPlainName(wanted.property)) {
      yield* this.#nodesWith(lid, wanted);
      return;
    }
    for (let last = 0; ;) {
      const rows = lid === undefined ? this.#scan.all(last) : this.#scanLabel.all(lid, last);
      for (const row of rows) {
        const node = this.#node(row);
        if (node !== undefined) yield node;
      }
      const end = rows.at(-1);
      if (end === undefined || rows.length < pageSize) return;
      last = Number(end['nid']);
    }
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
    return lid === undefined ? 0 : Number(this.#countLabel.get(lid)?.['count'] ?? 0);
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
    statement: StatementSync,
    node: NodeValue,
    tid: number | null,
    isOut: boolean,
    areLoopsLeftOut: boolean,
  ): Iterable<Neighbour> {
    for (const row of statement.all(node.nid, tid, tid)) {
      const other = this.#node(row);
      if (other === undefined || (areLoopsLeftOut && other.nid === node.nid)) continue;
      const [from, to] = isOut ? [node, other] : [other, node];
      const type = this.#names.typeName(Number(row['tid']));
      const relationship = new StoredRelationship(from, type, to, row as unknown as EdgeRow);
      yield { relationship, node: other };
    }
  }

  #node(row: Readonly<Record<string, unknown>>): StoredNodeValue | undefined {
    const nid = Number(row['nid']);
    const known = this.#nodes.get(nid);
    if (known !== undefined) return known;
    const workspace = this.#workspaces.get(Number(row['wid']));
    if (workspace === undefined) return undefined;
    const node = new StoredNodeValue(nid, String(row['id']), workspace, {
      labels: () =>
        this.#labels
          .all(nid)
          .map(({ name }) => String(name))
          .sort(),
      visible: () => String(this.#visible.get(nid)?.['visible'] ?? '{}'),
    });
    if (this.#nodes.size >= nodesMax) this.#nodes = new Map();
    this.#nodes.set(nid, node);
    return node;
  }
}

interface NodeReader {
  labels(): readonly string[];
  visible(): string;
}

class StoredNodeValue implements NodeValue {
  readonly kind = 'node' as const;
  readonly nid: number;
  readonly id: string;
  readonly workspace: string;
  readonly #reader: NodeReader;
  #labels: readonly string[] | undefined;
  #properties: CypherMap | undefined;

  constructor(nid: number, id: string, workspace: string, reader: NodeReader) {
    this.nid = nid;
    this.id = id;
    this.workspace = workspace;
    this.#reader = reader;
  }

  get labels(): readonly string[] {
    this.#labels ??= this.#reader.labels();
    return this.#labels;
  }

  /** Id and workspace are properties too, as in Neo4j. */
  get properties(): CypherMap {
    this.#properties ??= new CypherMap([
      ...entriesOf(this.#reader.visible()),
      ['node_id', this.id],
      ['workspace', this.workspace],
    ]);
    return this.#properties;
  }
}

interface EdgeRow {
  readonly props: string;
  readonly at: string | null;
}

class StoredRelationship implements RelationshipValue {
  readonly kind = 'relationship' as const;
  readonly from: NodeValue;
  readonly type: string;
  readonly to: NodeValue;
  readonly #row: EdgeRow;
  #properties: CypherMap | undefined;

  constructor(from: NodeValue, type: string, to: NodeValue, row: EdgeRow) {
    this.from = from;
    this.type = type;
    this.to = to;
    this.#row = row;
  }

  get key(): string {
    return `${this.from.nid} ${this.type} ${this.to.nid}`;
  }

  get properties(): CypherMap {
    const { props, at } = this.#row;
    this.#properties ??= new CypherMap([
      ...entriesOf(props),
      ...(at === null ? [] : ([['occurred_at', valueOf({ $time: at })]] as const)),
    ]);
    return this.#properties;
  }
}

function entriesOf(text: string): readonly (readonly [string, ReturnType<typeof valueOf>])[] {
  const properties = JSON.parse(text) as Readonly<Record<string, unknown>>;
  return Object.entries(properties).map(([name, value]) => [name, valueOf(value)]);
}

/** Numbers of names; new ones may come between two queries, none goes. */
class Names {
  readonly #database: DatabaseSync;
  #labels: ReadonlyMap<string, number> | undefined;
  #types: ReadonlyMap<string, number> | undefined;
  #typeNames: ReadonlyMap<number, string> = new Map();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  forget(): void {
    this.#labels = undefined;
    this.#types = undefined;
  }

  workspaces(): ReadonlyMap<number, string> {
    const rows = this.#database.prepare('SELECT wid, name FROM workspace').all();
    return new Map(rows.map(({ wid, name }) => [Number(wid), String(name)]));
  }

  label(name: string): number | undefined {
    this.#labels ??= this.#read('SELECT name, lid AS number FROM label');
    return this.#labels.get(name);
  }

  type(name: string): number | undefined {
    return this.#allTypes().get(name);
  }

  typeName(tid: number): string {
    this.#allTypes();
    return this.#typeNames.get(tid) ?? '';
  }

  #allTypes(): ReadonlyMap<string, number> {
    if (this.#types === undefined) {
      this.#types = this.#read('SELECT name, tid AS number FROM type');
      this.#typeNames = new Map([...this.#types].map(([name, tid]) => [tid, name]));
    }
    return this.#types;
  }

  #read(sql: string): ReadonlyMap<string, number> {
    const rows = this.#database.prepare(sql).all();
    return new Map(rows.map(({ name, number }) => [String(name), Number(number)]));
  }
}
