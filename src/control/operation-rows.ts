import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '#base';
import {
  beginRunSql,
  endKeySql,
  endRunSql,
  expireKeysSql,
  findKeySql,
  interruptRunsSql,
  keepKeySql,
  lastRunSql,
  listRunsSql,
  operationKeyHours,
  pruneRunsSql,
  weighKeysSql,
  type AuditRow,
  type BegunOperation,
  type KnownOperation,
  type OperationBounds,
  type OperationEnd,
  type OperationOrder,
  type OperationRows,
} from './operations.ts';
import { classified, inTransaction, timeOf } from './transaction.ts';

type Row = Readonly<Record<string, unknown>>;

/** The rows of a control database that is open; each call is one transaction. */
export function operationsOver(
  database: DatabaseSync,
  path: string,
  { clock, bounds }: { readonly clock: Clock; readonly bounds: OperationBounds },
): OperationRows {
  const find = database.prepare(findKeySql);
  const interrupt = database.prepare(interruptRunsSql);
  const list = database.prepare(listRunsSql);
  const last = database.prepare(lastRunSql);
  const begin = beginOver(database, clock, bounds);
  const end = endOver(database, clock);
  const transact = <T>(fn: () => T): T => classified(path, () => inTransaction(database, fn));
  return {
    find: (verb, principal, key) =>
      classified(path, () => knownOf(find.get(principal, verb, key), clock)),
    begin: (order) => transact(() => begin(order)),
    end: (ending) => transact(() => end(ending)),
    interrupt: () => classified(path, () => Number(interrupt.run().changes)),
    last: ({ verb, member, value }) =>
      classified(path, () => {
        const row = last.get(verb, member, value);
        return row === undefined ? undefined : auditRowOf(row);
      }),
    list: ({ limit, before = Number.MAX_SAFE_INTEGER }) =>
      classified(path, () => list.all(before, limit).map(auditRowOf)),
  };
}

function beginOver(
  database: DatabaseSync,
  clock: Clock,
  bounds: OperationBounds,
): (order: OperationOrder) => BegunOperation | undefined {
  const find = database.prepare(findKeySql);
  const expire = database.prepare(expireKeysSql);
  const weigh = database.prepare(weighKeysSql);
  const keep = database.prepare(keepKeySql);
  const beginRun = database.prepare(beginRunSql);
  const prune = database.prepare(pruneRunsSql);
  return (order) => {
    const { verb, principal, input, key } = order;
    const at = timeOf(clock);
    let { operationId } = order;
    if (key !== undefined) {
      expire.run(oldestKept(clock));
      const isNew = find.get(principal, verb, key.text) === undefined;
      const { keys, bytes } = weigh.get() ?? {};
      const isFull = Number(keys) >= bounds.keys || Number(bytes) >= bounds.answerBytes;
      if (isNew && isFull) return undefined;
      const { text, requestSha256: request_sha256 } = key;
      const named = { principal, verb, key: text, request_sha256, operation_id: operationId, at };
      operationId = String(keep.get(named)?.['operation_id']);
    }
    const run = Number(beginRun.get(operationId, verb, principal, input, at)?.['run']);
    prune.run(run - bounds.runs);
    return { operationId, run };
  };
}

function endOver(database: DatabaseSync, clock: Clock): (end: OperationEnd) => void {
  const endRun = database.prepare(endRunSql);
  const endKey = database.prepare(endKeySql);
  return ({ run, outcome, count, answer }) => {
    const at = timeOf(clock);
    endRun.run(outcome, count, at, run);
    if (answer === undefined) return;
    endKey.run({ at, run, answer, bytes: answer === null ? 0 : Buffer.byteLength(answer) });
  };
}

function oldestKept(clock: Clock): string {
  return new Date(clock.now() - operationKeyHours * 3_600_000).toISOString();
}

function knownOf(row: Row | undefined, clock: Clock): KnownOperation | undefined {
  if (row === undefined || String(row['used_at']) < oldestKept(clock)) return undefined;
  return {
    operationId: String(row['operation_id']),
    requestSha256: String(row['request_sha256']),
    isDone: row['is_done'] === 1,
    answer: textOf(row['answer']),
  };
}

function auditRowOf(row: Row): AuditRow {
  return {
    run: Number(row['run']),
    operationId: String(row['operation_id']),
    verb: String(row['verb']),
    principal: String(row['principal']),
    input: String(row['input']),
    outcome: textOf(row['outcome']),
    count: row['count'] === null ? null : Number(row['count']),
    beganAt: String(row['began_at']),
    endedAt: textOf(row['ended_at']),
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
