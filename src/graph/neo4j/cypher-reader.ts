import type { Clock } from '#base';
import { checkCypher, type CheckedQuery } from '../cypher/index.ts';
import { cypherInvalid, cypherInvalidSomewhere } from '../cypher/errors.ts';
import { queryTimeout, queryTooLarge } from '../errors.ts';
import type { CypherQuery, QueryResult } from '../store.ts';
import { answerOf, collectEnds, EndIds, parameterOf } from './answer-values.ts';
import { codeOf, isTimedOut } from './classify.ts';
import { faultPlace } from './fault-place.ts';
import { statement } from './cypher.ts';
import type { Neo4jLink, Row } from './link.ts';
import {
  parameterPrefix,
  renderCypher,
  workspacesParameter,
  type RenderedQuery,
} from './render-cypher.ts';
import { nodeLabel } from './stored-form.ts';

/** Rendered queries that are kept; the least recently used goes first. */
const renderedMax = 200;

const endsText = `MATCH (n:${nodeLabel}) WHERE elementId(n) IN $ids
RETURN elementId(n) AS element, n.node_id AS id`;

interface Prepared extends RenderedQuery, Pick<CheckedQuery, 'query' | 'requireParameters'> {
  /** As the caller called them. */
  readonly names: readonly string[];
}

/** Read-only Cypher on the server: read by our own parser, written anew, and stopped at our limits. */
export class Neo4jCypherReader {
  readonly #link: Neo4jLink;
  readonly #clock: Clock;
  readonly #prepared = new Map<string, Prepared>();

  constructor(link: Neo4jLink, clock: Clock) {
    this.#link = link;
    this.#clock = clock;
  }

  async run(query: CypherQuery, signal: AbortSignal): Promise<QueryResult> {
    const { text, limits, workspaces } = query;
    const prepared = this.#prepare(text, workspaces !== undefined);
    prepared.requireParameters(query.parameters);
    const parameters = {
      ...prepared.literals,
      ...Object.fromEntries(
        Object.entries(query.parameters).map(([name, value]) => [
          `${parameterPrefix}${name}`,
          parameterOf(value),
        ]),
      ),
      [workspacesParameter]: workspaces ?? [],
    };
    const timedOut = (): Error => queryTimeout({ name: 'cypher', limitMs: limits.timeMs });
    const stop = new AbortController();
    const onAbort = (): void => stop.abort(timedOut());
    if (signal.aborted) throw timedOut();
    signal.addEventListener('abort', onAbort, { once: true });
    const timer = this.#clock.after(limits.timeMs, onAbort);
    try {
      return await this.#answer(prepared, parameters, limits, stop.signal);
    } catch (error) {
      throw stop.signal.aborted ? timedOut() : inWords(error, query, prepared);
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
    }
  }

  async #answer(
    prepared: Prepared,
    parameters: Readonly<Record<string, unknown>>,
    limits: CypherQuery['limits'],
    signal: AbortSignal,
  ): Promise<QueryResult> {
    const { names: columns } = prepared;
    const asked = statement(prepared.text, parameters);
    const ends = new EndIds();
    const raw: unknown[][] = [];
    let hasMore = false;
    let bytes = 0;
    for await (const row of this.#link.stream(asked, limits.timeMs + 1_000, signal)) {
      if (raw.length >= limits.rows || bytes > limits.bytes) {
        hasMore = true;
        break;
      }
      const values = prepared.columns.map((name) => row[name]);
      for (const value of values) collectEnds(value, ends);
      bytes += JSON.stringify(values.map((value) => answerOf(value, ends))).length;
      raw.push(values);
    }
    await this.#findEnds(ends, limits.timeMs);
    const rows = raw.map((values) => values.map((value) => answerOf(value, ends)));
    return { columns, rows, hasMore };
  }

  async #findEnds(ends: EndIds, timeoutMs: number): Promise<void> {
    const ids = ends.missing;
    if (ids.length === 0) return;
    const found: readonly Row[] = await this.#link.read(
      (tx) => tx.run(statement(endsText, { ids })),
      timeoutMs,
    );
    for (const { element, id } of found) ends.know(String(element), String(id));
  }

  #prepare(text: string, isScoped: boolean): Prepared {
    const key = `${isScoped ? 's' : 'a'}${text}`;
    const known = this.#prepared.get(key);
    this.#prepared.delete(key);
    const prepared = known ?? prepare(text, isScoped);
    this.#prepared.set(key, prepared);
    const [oldest] = this.#prepared.keys();
    if (this.#prepared.size > renderedMax && oldest !== undefined) this.#prepared.delete(oldest);
    return prepared;
  }
}

function prepare(text: string, isScoped: boolean): Prepared {
  const { query, compiled, requireParameters } = checkCypher(text);
  const names = compiled.columns ?? [];
  const rendered = renderCypher(query, { source: text, columns: names, isScoped });
  return { ...rendered, names, query, requireParameters };
}

/** What the server does not like of a query is the caller's; what is wrong with the server is not. */
function inWords(error: unknown, { text, limits }: CypherQuery, { query }: Prepared): unknown {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = codeOf(cause) ?? codeOf(error);
  if (code === undefined) return error;
  if (isTimedOut(error) || code.includes('Transaction.Terminated'))
    return queryTimeout({ name: 'cypher', limitMs: limits.timeMs });
  if (code.includes('OutOfMemory')) return queryTooLarge({ held: limits.rows });
  if (!faultOfQuery.test(code)) return error;
  const [line = ''] = (cause as Error).message.split('\n', 1);
  const reason = `Neo4j says: ${line}`;
  const at = faultPlace(query, line);
  return at === undefined ? cypherInvalidSomewhere(reason) : cypherInvalid(text, at, reason);
}

/** A query that fails while it runs is a fault of the database in the server's codes, such as `substring('a', -1)`. */
const faultOfQuery =
  /^Neo\.(?:ClientError\.(?:Statement|Procedure|General)\.|DatabaseError\.Statement\.ExecutionFailed$)/;
