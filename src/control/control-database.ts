import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { formatTooNew, type Clock } from '#base';
import {
  leaseHistoryDays,
  pruneLeaseEventsSql,
  readLeaseSql,
  recordLeaseEventSql,
  releaseLeaseSql,
  takeLeaseSql,
  type LeaseOrder,
  type LeaseRow,
  type LeaseRows,
} from './leases.ts';
import { type ExpiredObjectRows, expiredObjectsOver } from './expired-objects.ts';
import { controlCorrupt } from './errors.ts';
import { jobsOver, noticesOver } from './job-rows.ts';
import type { JobRows, NoticeRows } from './jobs.ts';
import { controlSchemaVersion, migrations } from './migrations.ts';
import { operationsOver } from './operation-rows.ts';
import { operationBoundsDefault, type OperationBounds, type OperationRows } from './operations.ts';
import { removalsOver, type RemovalRows } from './removals.ts';
import { classified, inTransaction, timeOf } from './transaction.ts';

/**
 * `control.db` of a root: WAL, synchronous=FULL, so that a generation is on disk before anybody writes with it (FEN-851). Every call is
 * synchronous: no transaction is open across an await (FEN-856).
 * Errors: CONTROL_UNAVAILABLE (`retry`), CONTROL_CORRUPT (`corrupt`), FORMAT_TOO_NEW (`fatal`).
 */
export interface ControlDatabase {
  readonly path: string;
  readonly schemaVersion: number;
  readonly leases: LeaseRows;
  readonly operations: OperationRows;
  readonly jobs: JobRows;
  readonly notices: NoticeRows;
  readonly expiredObjects: ExpiredObjectRows;
  readonly removals: RemovalRows;
  /** A whole copy of the database as one new file; the file MUST NOT be there. */
  copyTo(path: string): void;
  /** Gives free pages back to the file system. */
  vacuum(): void;
  close(): void;
}

export interface ControlOptions {
  readonly clock: Clock;
  /** The file is known to be as it was left, and not looked at. */
  readonly isAsLeft?: boolean;
  /** Wait for another process's write lock before CONTROL_UNAVAILABLE. */
  readonly lockWaitMs?: number;
  /** Other bounds than the usual ones. */
  readonly operationBounds?: Partial<OperationBounds>;
}

/** Opens the file, makes it when it is missing, and brings its schema up to date. The folder MUST exist. */
export function openControlDatabase(path: string, options: ControlOptions): ControlDatabase {
  return classified(path, () => {
    const database = new DatabaseSync(path, { timeout: options.lockWaitMs ?? 5000 });
    try {
      if (options.isAsLeft !== true) checkPages(database, path);
      database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
      migrate(database, path, options.clock);
    } catch (error) {
      database.close();
      throw error;
    }
    return controlOver(database, path, options);
  });
}

/** It is small (its histories are bounded), so that every page and every index is looked at before anything is built on it (P7). */
function checkPages(database: DatabaseSync, path: string): void {
  const reason = String(database.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check']);
  if (reason !== 'ok') throw controlCorrupt({ path, reason: reason.replaceAll(/\s+/g, ' ') });
}

function migrate(database: DatabaseSync, path: string, clock: Clock): void {
  database.exec(
    'CREATE TABLE IF NOT EXISTS control_schema (version INTEGER PRIMARY KEY, what TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT',
  );
  const row = database.prepare('SELECT max(version) AS version FROM control_schema').get();
  const found = Number(row?.['version'] ?? 0);
  if (found > controlSchemaVersion) {
    throw formatTooNew({
      thing: `the control database ${path}`,
      found,
      known: controlSchemaVersion,
    });
  }
  for (const { version, what, sql } of migrations.filter((step) => step.version > found)) {
    inTransaction(database, () => {
      database.exec(sql);
      database
        .prepare('INSERT INTO control_schema (version, what, applied_at) VALUES (?, ?, ?)')
        .run(version, what, timeOf(clock));
    });
  }
}

function controlOver(
  database: DatabaseSync,
  path: string,
  { clock, operationBounds }: ControlOptions,
): ControlDatabase {
  const bounds = { ...operationBoundsDefault, ...operationBounds };
  const oldest = new Date(clock.now() - leaseHistoryDays * 86_400_000).toISOString();
  database.prepare(pruneLeaseEventsSql).run(oldest);
  return {
    path,
    schemaVersion: controlSchemaVersion,
    leases: leasesOver(database, path, clock),
    operations: operationsOver(database, path, { clock, bounds }),
    jobs: jobsOver(database, path, clock),
    notices: noticesOver(database, path, clock),
    expiredObjects: expiredObjectsOver(database, path, clock),
    removals: removalsOver(database, path, clock),
    copyTo: (copy) => classified(path, () => void database.prepare('VACUUM INTO ?').run(copy)),
    vacuum: () =>
      classified(path, () => {
        database.exec('VACUUM');
        database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      }),
    close: () => database.close(),
  };
}

function leasesOver(database: DatabaseSync, path: string, clock: Clock): LeaseRows {
  const read = database.prepare(readLeaseSql);
  const take = database.prepare(takeLeaseSql);
  const release = database.prepare(releaseLeaseSql);
  const record = database.prepare(recordLeaseEventSql);
  const transact = <T>(fn: () => T): T => classified(path, () => inTransaction(database, fn));
  return {
    read: (domain) => classified(path, () => leaseRowOf(read.get(domain))),
    take: (order) => transact(() => takeRow(order, { read, take, record }, timeOf(clock))),
    release: (domain, token) =>
      transact(() => {
        const freed = release.get(domain, token);
        if (freed === undefined) return false;
        const generation = Number(freed['generation']);
        record.run(domain, generation, 'released', null, null, timeOf(clock), null);
        return true;
      }),
  };
}

interface TakeStatements {
  readonly read: StatementSync;
  readonly take: StatementSync;
  readonly record: StatementSync;
}

function takeRow(order: LeaseOrder, statements: TakeStatements, at: string): number {
  const { domain, token, label, node, pid, atLeast = 0 } = order;
  const before = leaseRowOf(statements.read.get(domain));
  const taken = statements.take.get({ domain, token, label, node, pid, at, at_least: atLeast });
  const generation = Number(taken?.['generation']);
  const kind =
    atLeast > (before?.generation ?? 0) ? 'raised' : before?.holder ? 'taken_over' : 'acquired';
  const detail = before?.holder ? `held by ${before.holder.label}, pid ${before.holder.pid}` : null;
  statements.record.run(domain, generation, kind, label, node, at, detail);
  return generation;
}

function leaseRowOf(row: Readonly<Record<string, unknown>> | undefined): LeaseRow | undefined {
  if (row === undefined) return undefined;
  const isHeld = row['holder_token'] !== null;
  return {
    domain: String(row['fence_name']),
    generation: Number(row['generation']),
    holder: isHeld
      ? {
          label: String(row['holder_label']),
          node: String(row['holder_node']),
          pid: Number(row['holder_pid']),
          acquiredAt: String(row['acquired_at']),
        }
      : null,
  };
}
