/** An operator's act on its way (ING-014, ING-916). Texts of JSON; times are RFC 3339 UTC with milliseconds. */
export interface OperationOrder {
  /** Fresh; not used when `key` belongs to an operation that was begun before. */
  readonly operationId: string;
  readonly verb: string;
  readonly principal: string;
  /** What was asked for, as the audit keeps it: JSON of names and filters, never a payload or a secret. */
  readonly input: string;
  readonly key?: OperationKey;
}

/** What a caller named the act, to be able to ask again. */
export interface OperationKey {
  readonly text: string;
  /** Lower-case hex, of the whole request. */
  readonly requestSha256: string;
}

/** What is known of a key. */
export interface KnownOperation {
  readonly operationId: string;
  readonly requestSha256: string;
  readonly isDone: boolean;
  /** JSON of the answer; null while it is not done, and for an answer that is not kept. */
  readonly answer: string | null;
}

export interface BegunOperation {
  readonly operationId: string;
  /** Number of this run in the audit. */
  readonly run: number;
}

export interface OperationEnd {
  readonly run: number;
  /** `done`, or the code of what ended it. */
  readonly outcome: string;
  readonly count: number | null;
  /** JSON of the answer, for an operation with a key that is done; null when it must not be kept. */
  readonly answer?: string | null;
}

/** One run of an act, in the audit. */
export interface AuditRow {
  readonly run: number;
  readonly operationId: string;
  readonly verb: string;
  readonly principal: string;
  readonly input: string;
  /** Null while it runs. */
  readonly outcome: string | null;
  readonly count: number | null;
  readonly beganAt: string;
  readonly endedAt: string | null;
}

/** Acts of operators, durable before they begin. */
/** Names runs by what was asked for. */
export interface RunWith {
  readonly verb: string;
  readonly member: string;
  readonly value: string;
}

export interface OperationRows {
  find(verb: string, principal: string, key: string): KnownOperation | undefined;
  /** Writes down that an act begins; undefined, and nothing written, when more keys are kept than there is room for. */
  begin(order: OperationOrder): BegunOperation | undefined;
  end(end: OperationEnd): void;
  /** Marks runs that a former process began and never ended; returns how many. */
  interrupt(): number;
  /** The last run of a verb that was done or cut off, and no dry run, with this member of its input. */
  last(which: RunWith): AuditRow | undefined;
  /** Newest first, before run `before` where it is given. */
  list(page: { readonly limit: number; readonly before?: number }): readonly AuditRow[];
}

/** A key is known for this long after the last run under it; then it may be used anew. */
export const operationKeyHours = 24;

export interface OperationBounds {
  readonly keys: number;
  /** Bytes of all answers that are kept for their keys. */
  readonly answerBytes: number;
  /** Runs in the audit; the oldest go first. */
  readonly runs: number;
}
export const operationBoundsDefault: OperationBounds = {
  keys: 20_000,
  answerBytes: 256 * 1024 * 1024,
  runs: 100_000,
};

export const findKeySql = `
SELECT operation_id, request_sha256, used_at, is_done, answer FROM operation_key
WHERE principal = ? AND verb = ? AND key = ?`;

export const expireKeysSql = 'DELETE FROM operation_key WHERE used_at < ?';

export const weighKeysSql =
  'SELECT count(*) AS keys, coalesce(sum(answer_bytes), 0) AS bytes FROM operation_key';

export const keepKeySql = `
INSERT INTO operation_key (principal, verb, key, request_sha256, operation_id, used_at, is_done, answer_bytes, answer)
VALUES (:principal, :verb, :key, :request_sha256, :operation_id, :at, 0, 0, NULL)
ON CONFLICT (principal, verb, key) DO UPDATE SET used_at = excluded.used_at
RETURNING operation_id`;

export const endKeySql = `
UPDATE operation_key SET used_at = :at, is_done = 1, answer_bytes = :bytes, answer = :answer
WHERE operation_id = (SELECT operation_id FROM audit WHERE run = :run)`;

export const beginRunSql = `
INSERT INTO audit (operation_id, verb, principal, input, began_at) VALUES (?, ?, ?, ?, ?)
RETURNING run`;

export const endRunSql = 'UPDATE audit SET outcome = ?, count = ?, ended_at = ? WHERE run = ?';

export const pruneRunsSql = 'DELETE FROM audit WHERE run <= ?';

export const interruptRunsSql = "UPDATE audit SET outcome = 'INTERRUPTED' WHERE outcome IS NULL";

export const listRunsSql = `
SELECT run, operation_id, verb, principal, input, outcome, count, began_at, ended_at FROM audit
WHERE run < ? ORDER BY run DESC LIMIT ?`;

export const lastRunSql = `
SELECT run, operation_id, verb, principal, input, outcome, count, began_at, ended_at FROM audit
WHERE verb = ? AND json_extract(input, '$.' || ?) = ? AND outcome IN ('done', 'INTERRUPTED')
  AND coalesce(json_extract(input, '$.dry_run'), 0) = 0
ORDER BY run DESC LIMIT 1`;
