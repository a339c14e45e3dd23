import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '#base';
import { queryTimeout } from '../errors.ts';
import type { QueryBindings } from '../queries/bind-parameters.ts';
import type { NamedQuery } from '../queries/named-query.ts';
import type { QueryResult } from '../store.ts';

/** Calls of `tick` between two looks at the clock. */
const ticksPerLook = 256;

/** Runs named queries on one connection, each under a time limit: `tick()` throws inside the running statement once it is over. */
export class QueryRunner {
  readonly #database: DatabaseSync;
  readonly #clock: Clock;
  #ticks = 0;
  #deadlineMs = 0;
  #stop: () => Error = () => new Error('no query runs');

  constructor(database: DatabaseSync, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
    database.function('tick', () => this.#tick());
  }

  run(
    query: NamedQuery,
    bindings: QueryBindings,
    limits: { readonly rows: number; readonly timeMs: number },
  ): QueryResult {
    this.#deadlineMs = this.#clock.monotonic() + limits.timeMs;
    this.#stop = () => queryTimeout({ name: query.name, limitMs: limits.timeMs });
    const statement = this.#database.prepare(query.sql);
    const used = query.sql;
    const bound = Object.fromEntries(
      Object.entries({ ...bindings, limit: limits.rows + 1 }).filter(([name]) =>
        new RegExp(`:${name}\\b`).test(used),
      ),
    );
    const rows = statement.all(bound);
    return {
      columns: query.columns,
      rows: rows.slice(0, limits.rows).map((row) => query.columns.map((column) => row[column])),
      hasMore: rows.length > limits.rows,
    };
  }

  /** 1 in a condition, so that it changes nothing else. */
  #tick(): number {
    this.#ticks += 1;
    const isLook = this.#ticks % ticksPerLook === 0;
    if (isLook && this.#clock.monotonic() > this.#deadlineMs) throw this.#stop();
    return 1;
  }
}
