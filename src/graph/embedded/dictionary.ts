import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { assert } from '#base';

/** Names kept once, with their numbers. What it remembers of a transaction that failed is forgotten with it (ING-508). */
export class Dictionary {
  readonly #numbers = new Map<string, number>();
  readonly #names = new Map<number, string>();
  readonly #find: StatementSync;
  readonly #name: StatementSync;
  readonly #add: StatementSync;

  constructor(database: DatabaseSync, table: 'workspace' | 'label' | 'type', number: string) {
    this.#find = database.prepare(`SELECT ${number} AS number FROM ${table} WHERE name = ?`);
    this.#name = database.prepare(`SELECT name FROM ${table} WHERE ${number} = ?`);
    this.#add = database.prepare(`INSERT INTO ${table} (name) VALUES (?)`);
  }

  /** Undefined for a name that the graph does not have. */
  find(name: string): number | undefined {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const row = this.#find.get(name);
    return row === undefined ? undefined : this.#remember(name, Number(row['number']));
  }

  numberOf(name: string): number {
    return this.find(name) ?? this.#remember(name, Number(this.#add.run(name).lastInsertRowid));
  }

  nameOf(number: number): string {
    const known = this.#names.get(number);
    if (known !== undefined) return known;
    const row = this.#name.get(number);
    assert(row !== undefined, `the graph has no name ${number}`);
    const name = String(row['name']);
    this.#remember(name, number);
    return name;
  }

  forget(): void {
    this.#numbers.clear();
    this.#names.clear();
  }

  #remember(name: string, number: number): number {
    this.#numbers.set(name, number);
    this.#names.set(number, name);
    return number;
  }
}

/** Owners that are remembered; sessions come and go, labels do not. */
const ownersMax = 10_000;

/** Sessions as owners of nodes. */
export class Owners {
  readonly #numbers = new Map<string, number>();
  readonly #find: StatementSync;
  readonly #session: StatementSync;
  readonly #add: StatementSync;

  constructor(database: DatabaseSync) {
    this.#find = database.prepare('SELECT oid FROM owner WHERE wid = ? AND session = ?');
    this.#session = database.prepare('SELECT session FROM owner WHERE oid = ?');
    this.#add = database.prepare('INSERT INTO owner (wid, session) VALUES (?, ?)');
  }

  find(wid: number, session: string): number | undefined {
    const known = this.#numbers.get(`${wid} ${session}`);
    if (known !== undefined) return known;
    const row = this.#find.get(wid, session);
    return row === undefined ? undefined : this.#remember(wid, session, Number(row['oid']));
  }

  numberOf(wid: number, session: string): number {
    return (
      this.find(wid, session) ??
      this.#remember(wid, session, Number(this.#add.run(wid, session).lastInsertRowid))
    );
  }

  sessionOf(oid: number): string {
    const row = this.#session.get(oid);
    assert(row !== undefined, `the graph has no owner ${oid}`);
    return String(row['session']);
  }

  forget(): void {
    this.#numbers.clear();
  }

  #remember(wid: number, session: string, oid: number): number {
    if (this.#numbers.size >= ownersMax) this.#numbers.clear();
    this.#numbers.set(`${wid} ${session}`, oid);
    return oid;
  }
}
