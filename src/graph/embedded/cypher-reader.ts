import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '#base';
import { CypherRunner } from '../cypher/index.ts';
import type { CypherQuery, QueryResult } from '../store.ts';
import { CypherView } from './cypher-view.ts';
import { beganAt, cancelledAt } from './wire.ts';

/** Rows and groups that one query may hold; a row takes a few hundred bytes. */
const heldMax = 500_000;

/** Cypher on one connection, each query at one instant. */
export class CypherReader {
  readonly #database: DatabaseSync;
  readonly #runner: CypherRunner;
  #view: CypherView | undefined;

  constructor(database: DatabaseSync, clock: Clock) {
    this.#database = database;
    this.#runner = new CypherRunner(clock);
  }

  run(
    { text, parameters, workspaces, limits }: CypherQuery,
    cancelled: SharedArrayBuffer,
  ): QueryResult {
    const flag = new Int32Array(cancelled);
    Atomics.store(flag, beganAt, 1);
    this.#view ??= new CypherView(this.#database);
    this.#database.exec('BEGIN');
    try {
      this.#view.begin(workspaces);
      const isCancelled = (): boolean => Atomics.load(flag, cancelledAt) === 1;
      const all = { ...limits, held: heldMax };
      return this.#runner.run(this.#view, { text, parameters }, all, isCancelled);
    } finally {
      this.#database.exec('ROLLBACK');
    }
  }
}
