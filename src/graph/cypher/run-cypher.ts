import type { Clock } from '#base';
import { queryTimeout, queryTooLarge } from '../errors.ts';
import type { QueryResult } from '../store.ts';
import type { Query } from './ast.ts';
import { compilePatternPredicate, compileShortestPath } from './compile-match.ts';
import { compileQuery, compileSubquery, type CompiledQuery } from './compile-query.ts';
import { cypherInvalid } from './errors.ts';
import { Instant } from './instant.ts';
import { parseCypher } from './parse-query.ts';
import { Scope, Source, type InnerCompilers } from './scope.ts';
import { jsonOf, valueOf } from './values.ts';
import { partsOf } from './walk-tree.ts';
import type { Budget, GraphView } from './view.ts';

export interface CypherRequest {
  readonly text: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface CypherLimits {
  /** Rows that are answered; `hasMore` says that others were left out. */
  readonly rows: number;
  /** Bytes of the answer as JSON, roughly; the row that passes it is the last. */
  readonly bytes: number;
  readonly timeMs: number;
  /** Rows and groups that one query may hold in memory while it sorts, groups and collects. */
  readonly held: number;
  /** Values that expressions may have made and that are held at once; ten millions, some hundred megabytes, unless told. */
  readonly cells?: number;
}

/** Compiled queries that are kept; the least recently used goes first. */
const compiledMax = 200;
const cellsDefault = 10_000_000;
/** Steps of the work between two looks at the clock. */
const ticksPerLook = 512;

const inner: InnerCompilers = {
  pattern: compilePatternPredicate,
  shortestPath: compileShortestPath,
  subquery: compileSubquery,
};

export interface CheckedQuery {
  readonly query: Query;
  readonly compiled: CompiledQuery;
  /** Throws CYPHER_INVALID where a parameter of the query is none of these. */
  requireParameters(given: Readonly<Record<string, unknown>>): void;
}

/** A query that means something: names are bound, functions known. CYPHER_INVALID or CYPHER_UNSUPPORTED, with line and column. */
export function checkCypher(text: string): CheckedQuery {
  const query = parseCypher(text);
  const compiled = compileQuery(query, new Source(text, inner), new Scope());
  const parameters = partsOf(query, 'parameter');
  return {
    query,
    compiled,
    requireParameters(given) {
      const missing = parameters.find(({ name }) => !Object.hasOwn(given, name));
      if (missing === undefined) return;
      const { at, name } = missing;
      throw cypherInvalid(text, at, `the parameter $${name} is not given`);
    },
  };
}

/** Compiles once per text, runs within its limits. */
export class CypherRunner {
  readonly #clock: Clock;
  readonly #compiled = new Map<string, CheckedQuery>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  run(
    view: GraphView,
    { text, parameters }: CypherRequest,
    limits: CypherLimits,
    isCancelled: () => boolean = () => false,
  ): QueryResult {
    const { compiled, requireParameters } = this.#compile(text);
    const { columns = [], pipe } = compiled;
    requireParameters(parameters);
    const values = new Map(
      Object.entries(parameters).map(([name, value]) => [name, valueOf(value)]),
    );
    const now = new Instant(BigInt(this.#clock.now()) * 1_000_000n, true);
    const run = { view, parameters: values, now, budget: this.#budget(limits, isCancelled) };
    const rows: unknown[][] = [];
    let bytes = 0;
    try {
      for (const row of pipe([[]], run)) {
        if (rows.length >= limits.rows || bytes > limits.bytes)
          return { columns, rows, hasMore: true };
        const told = row.map(jsonOf);
        bytes += JSON.stringify(told).length;
        rows.push(told);
      }
    } catch (error) {
      // A text or list that the engine cannot make at all.
      if (error instanceof RangeError)
        throw queryTooLarge({ held: limits.cells ?? cellsDefault }, error);
      throw error;
    }
    return { columns, rows, hasMore: false };
  }

  #compile(text: string): CheckedQuery {
    const known = this.#compiled.get(text);
    this.#compiled.delete(text);
    const compiled = known ?? checkCypher(text);
    this.#compiled.set(text, compiled);
    const [oldest] = this.#compiled.keys();
    if (this.#compiled.size > compiledMax && oldest !== undefined) this.#compiled.delete(oldest);
    return compiled;
  }

  #budget(
    { timeMs, held: heldMax, cells: cellsMax = cellsDefault }: CypherLimits,
    isCancelled: () => boolean,
  ): Budget {
    const deadline = this.#clock.monotonic() + timeMs;
    let ticks = 0;
    let held = 0;
    let cellsHeld = 0;
    let cellsNow = 0;
    let depth = 0;
    const tick = (steps = 1): void => {
      const looks = Math.floor(ticks / ticksPerLook);
      ticks += steps;
      if (Math.floor(ticks / ticksPerLook) === looks) return;
      if (isCancelled() || this.#clock.monotonic() > deadline)
        throw queryTimeout({ name: 'cypher', limitMs: timeMs });
    };
    return {
      tick,
      hold() {
        held += 1;
        if (held > heldMax) throw queryTooLarge({ held: heldMax });
        cellsHeld += cellsNow;
        cellsNow = 0;
      },
      release(rows) {
        held -= rows;
      },
      made(cells) {
        cellsNow += cells;
        if (cellsHeld + cellsNow > cellsMax) throw queryTooLarge({ held: cellsMax });
        tick(1 + (cells >> 4));
      },
      fresh() {
        if (depth === 0) cellsNow = 0;
      },
      enter() {
        depth += 1;
      },
      leave() {
        depth -= 1;
      },
    };
  }
}
