import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Counts out of an index, without a look at any row. */
export class Counts {
  readonly #label: StatementSync;
  readonly #upTo: StatementSync;
  readonly #nodes: StatementSync;
  readonly #edges: StatementSync;
  readonly #edgesOfType: StatementSync;

  constructor(database: DatabaseSync) {
    const count = (from: string): StatementSync =>
      database.prepare(`SELECT count(*) AS count FROM ${from}`);
    this.#label = count('node_label WHERE lid = ?');
    this.#upTo = count('(SELECT 1 FROM node_label WHERE lid = ? LIMIT 10000)');
    this.#nodes = count('node WHERE wid = ?');
    this.#edges = count('edge');
    this.#edgesOfType = count('edge INDEXED BY edge_in WHERE tid = ?');
  }

  ofLabel(lid: number): number {
    return Number(this.#label.get(lid)?.['count'] ?? 0);
  }

  /** No further than to what tells few from many. */
  upTo(lid: number): number {
    return Number(this.#upTo.get(lid)?.['count'] ?? 0);
  }

  ofNodes(wids: readonly number[]): number {
    return wids.reduce((sum, wid) => sum + Number(this.#nodes.get(wid)?.['count'] ?? 0), 0);
  }

  ofEdges(tid: number | undefined): number {
    const row = tid === undefined ? this.#edges.get() : this.#edgesOfType.get(tid);
    return Number(row?.['count'] ?? 0);
  }
}

/** Numbers of names; new ones may come between two queries, none goes. */
export class Names {
  readonly #database: DatabaseSync;
  #labels: ReadonlyMap<string, number> | undefined;
  readonly #labelNames = new Map<string, readonly string[]>();
  #types: ReadonlyMap<string, number> | undefined;
  #typeNames: ReadonlyMap<number, string> = new Map();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Names of numbers that are joined by commas, sorted; most nodes have one of a few sets of labels. */
  labelNames(lids: string): readonly string[] {
    const known = this.#labelNames.get(lids);
    if (known !== undefined) return known;
    const all = (this.#labels ??= this.#read('SELECT name, lid AS number FROM label'));
    const numbers = new Set(lids.split(',').map(Number));
    const names = [...all].filter(([, lid]) => numbers.has(lid)).map(([name]) => name);
    names.sort();
    this.#labelNames.set(lids, names);
    return names;
  }

  forget(): void {
    this.#labels = undefined;
    this.#labelNames.clear();
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
