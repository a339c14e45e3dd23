import neo4j, { type Driver, type ManagedTransaction, type Session } from 'neo4j-driver';
import { backoffMs, isMillraceError, type Chance, type Clock } from '#base';
import { graphConflict, graphUnavailable } from '../errors.ts';
import { classifyNeo4jError, isUnreachable } from './classify.ts';
import type { Statement } from './cypher.ts';

export interface Neo4jAddress {
  /** `bolt://`, `neo4j://`, with `+s` or `+ssc` for TLS. */
  readonly uri: string;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** The server's default database where it is not given. */
  readonly database?: string | undefined;
}

export type Row = Readonly<Record<string, unknown>>;

/** One transaction. Statements may be sent without waiting for the one before: they are carried out in order. */
export interface Transaction {
  run(statement: Statement): Promise<readonly Row[]>;
}

const connectMs = 5_000;
const connectionsMax = 32;
/** Waits between tries of a transaction that met another one. */
const conflictBackoff = { baseMs: 10, maxMs: 500 };
const conflictTries = 12;

/** The one driver of a store (ING-853): sessions live no longer than a transaction, errors come out in our words. */
export class Neo4jLink {
  readonly uri: string;
  readonly #driver: Driver;
  readonly #database: string | undefined;
  readonly #clock: Clock;
  readonly #chance: Chance;
  /** In a cluster, what one transaction wrote is there for the next one that reads. */
  readonly #bookmarks = neo4j.bookmarkManager();
  #awaySince: number | undefined;
  #isClosed = false;

  constructor(address: Neo4jAddress, clock: Clock, chance: Chance) {
    const { uri, user, password, database } = address;
    this.uri = uri;
    this.#database = database;
    this.#clock = clock;
    this.#chance = chance;
    const auth = user === undefined ? undefined : neo4j.auth.basic(user, password ?? '');
    try {
      this.#driver = neo4j.driver(uri, auth, {
        useBigInt: true,
        connectionTimeout: connectMs,
        connectionAcquisitionTimeout: 2 * connectMs,
        connectionLivenessCheckTimeout: 10_000,
        maxConnectionPoolSize: connectionsMax,
        userAgent: 'millrace',
        telemetryDisabled: true,
        notificationFilter: { minimumSeverityLevel: 'OFF' },
      });
    } catch (error) {
      throw graphUnavailable({ reason: `${uri} is no address of a Neo4j server` }, error);
    }
  }

  /**
   * Runs one writing transaction, again while it meets another one (deadlock, constraint): GRAPH_CONFLICT when that goes on. What the work throws
   * itself comes out as it is; nothing of it is kept then.
   */
  async write<T>(work: (tx: Transaction) => Promise<T>, timeoutMs: number): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#once('WRITE', work, timeoutMs);
      } catch (error) {
        if (!graphConflict.is(error) || attempt >= conflictTries) throw error;
        await this.#clock.sleep(backoffMs(conflictBackoff, attempt, this.#chance));
      }
    }
  }

  /** A transaction that the server keeps from writing. */
  read<T>(work: (tx: Transaction) => Promise<T>, timeoutMs: number): Promise<T> {
    return this.#once('READ', work, timeoutMs);
  }

  /** Rows as they come, never more of them in memory than a few thousand. Outside of any transaction of ours. */
  async *stream(
    statement: Statement,
    timeoutMs: number,
    signal?: AbortSignal,
  ): AsyncGenerator<Row> {
    const session = this.#session('READ', 2_000);
    // To close a session resets its connection, which ends the statement at once.
    const onAbort = (): void => void session.close().catch(() => undefined);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const result = session.run(statement.text, statement.parameters, { timeout: timeoutMs });
      for await (const record of result) yield record.toObject();
      this.#awaySince = undefined;
    } catch (error) {
      throw this.#classified(error);
    } finally {
      signal?.removeEventListener('abort', onAbort);
      await session.close().catch(() => undefined);
    }
  }

  /** A statement that is its own transaction: for the schema. */
  async alone(text: string): Promise<readonly Row[]> {
    const session = this.#session('WRITE');
    try {
      const { records } = await session.run(text);
      this.#awaySince = undefined;
      return records.map((record) => record.toObject());
    } catch (error) {
      throw this.#classified(error);
    } finally {
      await session.close().catch(() => undefined);
    }
  }

  /** As the server calls itself, like `Neo4j/5.26.12`. */
  async agent(): Promise<string> {
    this.#expectOpen();
    try {
      const { agent } = await this.#driver.getServerInfo(
        this.#database === undefined ? {} : { database: this.#database },
      );
      return agent ?? '';
    } catch (error) {
      throw this.#classified(error);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#driver.close();
  }

  async #once<T>(
    mode: 'READ' | 'WRITE',
    work: (tx: Transaction) => Promise<T>,
    timeoutMs: number,
  ): Promise<T> {
    const session = this.#session(mode);
    try {
      const transaction = await session.beginTransaction({ timeout: timeoutMs });
      try {
        const result = await work(overTransaction(transaction));
        await transaction.commit();
        this.#awaySince = undefined;
        return result;
      } catch (error) {
        if (transaction.isOpen()) await transaction.rollback().catch(() => undefined);
        throw error;
      }
    } catch (error) {
      throw this.#classified(error);
    } finally {
      await session.close().catch(() => undefined);
    }
  }

  #session(mode: 'READ' | 'WRITE', fetchSize?: number): Session {
    this.#expectOpen();
    return this.#driver.session({
      defaultAccessMode: mode,
      bookmarkManager: this.#bookmarks,
      ...(this.#database === undefined ? {} : { database: this.#database }),
      ...(fetchSize === undefined ? {} : { fetchSize }),
    });
  }

  #expectOpen(): void {
    if (this.#isClosed) throw graphUnavailable({ reason: 'it is closed' });
  }

  #classified(error: unknown): unknown {
    if (isMillraceError(error)) return error;
    if (this.#isClosed) return graphUnavailable({ reason: 'it is closed' }, error);
    if (isUnreachable(error)) this.#awaySince ??= this.#clock.now();
    return classifyNeo4jError(error, this.#away()) ?? error;
  }

  #away(): string {
    const since = this.#awaySince;
    return since === undefined
      ? `Neo4j at ${this.uri} cannot work`
      : `Neo4j at ${this.uri} unreachable since ${new Date(since).toISOString()}`;
  }
}

function overTransaction(transaction: Pick<ManagedTransaction, 'run'>): Transaction {
  return {
    async run({ text, parameters }) {
      const { records } = await transaction.run(text, parameters);
      return records.map((record) => record.toObject());
    },
  };
}
