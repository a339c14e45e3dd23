import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '#base';
import {
  endedJobsMax,
  type JobItem,
  type JobOrder,
  type JobResult,
  type JobRow,
  type JobRows,
  type JobState,
  type NoticeRows,
} from './jobs.ts';
import { classified, inTransaction, timeOf } from './transaction.ts';

type Row = Readonly<Record<string, unknown>>;

/** The rows of a control database that is open; each call is one transaction. */
export function jobsOver(database: DatabaseSync, path: string, clock: Clock): JobRows {
  const transact = <T>(fn: () => T): T => classified(path, () => inTransaction(database, fn));
  const select = database.prepare('SELECT * FROM job WHERE id = ?');
  const find = (id: string): JobRow | undefined => rowOf(select.get(id));
  return {
    begin: (order) => transact(() => begin(database, order, timeOf(clock))),
    add: (id, subjects) => transact(() => add(database, seqOf(find(id)), subjects)),
    ready: (id) =>
      transact(() => {
        database.prepare(readySql).run(id);
        const row = find(id);
        if (row === undefined) throw new RangeError(`job ${id} was not begun`);
        return row;
      }),
    find: (id) => classified(path, () => find(id)),
    move: (id, to) => transact(() => move(database, id, to, timeOf(clock))),
    settle: (id, results) => transact(() => settle(database, find(id), results, timeOf(clock))),
    abandon: () => transact(() => abandon(database)),
    ...readsOver(database, path, find),
  };
}

const readySql = "UPDATE job SET state = 'running' WHERE id = ? AND state = 'selecting'";

function seqOf(row: JobRow | undefined): number {
  if (row === undefined) throw new RangeError('the job was not begun');
  return row.seq;
}

function begin(database: DatabaseSync, order: JobOrder, at: string): void {
  removeJobs(database, "id = ? AND state = 'selecting'", order.id);
  removeJobs(
    database,
    'ended_at IS NOT NULL AND seq <= (SELECT max(seq) FROM job WHERE ended_at IS NOT NULL) - ?',
    endedJobsMax,
  );
  database
    .prepare(
      `INSERT INTO job (id, kind, principal, workspaces, selection, settings, state, total, counts, made_at)
       VALUES (?, ?, ?, ?, ?, ?, 'selecting', 0, '{}', ?)`,
    )
    .run(
      order.id,
      order.kind,
      order.principal,
      order.workspaces,
      order.selection,
      order.settings,
      at,
    );
}

function removeJobs(database: DatabaseSync, where: string, value: string | number): void {
  database
    .prepare(`DELETE FROM job_item WHERE job IN (SELECT seq FROM job WHERE ${where})`)
    .run(value);
  database.prepare(`DELETE FROM job WHERE ${where}`).run(value);
}

function add(database: DatabaseSync, seq: number, subjects: readonly string[]): void {
  const { total } = database.prepare('SELECT total FROM job WHERE seq = ?').get(seq) as {
    readonly total: number;
  };
  const insert = database.prepare('INSERT INTO job_item (job, item, subject) VALUES (?, ?, ?)');
  for (const [at, subject] of subjects.entries()) insert.run(seq, total + at, subject);
  database.prepare('UPDATE job SET total = total + ? WHERE seq = ?').run(subjects.length, seq);
}

function move(database: DatabaseSync, id: string, to: JobState, at: string): boolean {
  const isEnd = to === 'done' || to === 'cancelled';
  const { changes } = database
    .prepare(
      "UPDATE job SET state = ?, ended_at = ? WHERE id = ? AND state IN ('running', 'paused')",
    )
    .run(to, isEnd ? at : null, id);
  return changes === 1;
}

function settle(
  database: DatabaseSync,
  job: JobRow | undefined,
  results: readonly JobResult[],
  at: string,
): void {
  const seq = seqOf(job);
  const counts: Record<string, number> = { ...job?.counts };
  const write = database.prepare(
    'UPDATE job_item SET result = ?, detail = ?, at = ? WHERE job = ? AND item = ? AND result IS NULL',
  );
  for (const { item, result, detail } of results) {
    const { changes } = write.run(result, detail, at, seq, item);
    counts[result] = (counts[result] ?? 0) + Number(changes);
  }
  database.prepare('UPDATE job SET counts = ? WHERE seq = ?').run(JSON.stringify(counts), seq);
}

function abandon(database: DatabaseSync): number {
  const { count } = database
    .prepare("SELECT count(*) AS count FROM job WHERE state = 'selecting'")
    .get() as { readonly count: number };
  removeJobs(database, 'state = ?', 'selecting');
  return count;
}

function readsOver(
  database: DatabaseSync,
  path: string,
  find: (id: string) => JobRow | undefined,
): Pick<JobRows, 'list' | 'open' | 'waiting' | 'items'> {
  const list = database.prepare('SELECT * FROM job WHERE seq < ? ORDER BY seq DESC LIMIT ?');
  const open = database.prepare(
    "SELECT * FROM job WHERE ended_at IS NULL AND state <> 'selecting' ORDER BY seq",
  );
  const waiting = database.prepare(
    'SELECT * FROM job_item WHERE job = ? AND result IS NULL ORDER BY item LIMIT ?',
  );
  const items = database.prepare(
    'SELECT * FROM job_item WHERE job = ? AND item > ? ORDER BY item LIMIT ?',
  );
  const itemsOf = database.prepare(
    'SELECT * FROM job_item WHERE job = ? AND item > ? AND result = ? ORDER BY item LIMIT ?',
  );
  return {
    list: ({ limit, before = Number.MAX_SAFE_INTEGER }) =>
      classified(path, () => list.all(before, limit).map(jobOf)),
    open: () => classified(path, () => open.all().map(jobOf)),
    waiting: (id, limit) => classified(path, () => waiting.all(seqOf(find(id)), limit).map(itemOf)),
    items: (id, { limit, after = -1, result }) =>
      classified(path, () => {
        const seq = seqOf(find(id));
        const rows =
          result === undefined
            ? items.all(seq, after, limit)
            : itemsOf.all(seq, after, result, limit);
        return rows.map(itemOf);
      }),
  };
}

export function noticesOver(database: DatabaseSync, path: string, clock: Clock): NoticeRows {
  const write = database.prepare('INSERT OR IGNORE INTO notice (name, told_at) VALUES (?, ?)');
  const read = database.prepare('SELECT told_at FROM notice WHERE name = ?');
  const remove = database.prepare('DELETE FROM notice WHERE name = ?');
  const list = database.prepare('SELECT name, told_at FROM notice WHERE name >= ? AND name < ?');
  return {
    firstTold: (name) =>
      classified(path, () =>
        inTransaction(database, () => {
          write.run(name, timeOf(clock));
          return String(read.get(name)?.['told_at']);
        }),
      ),
    tellOnly: (prefix, names) =>
      classified(path, () =>
        inTransaction(database, () => {
          const wanted = new Set(names);
          const known = new Map(
            list
              .all(prefix, `${prefix}\u{10ffff}`)
              .map((row) => [String(row['name']), String(row['told_at'])]),
          );
          for (const name of known.keys()) if (!wanted.has(name)) remove.run(name);
          const now = timeOf(clock);
          for (const name of wanted) if (!known.has(name)) write.run(name, now);
          return new Map(names.map((name) => [name, known.get(name) ?? now]));
        }),
      ),
    forget: (name) => classified(path, () => void remove.run(name)),
  };
}

function rowOf(row: Row | undefined): JobRow | undefined {
  return row === undefined ? undefined : jobOf(row);
}

function jobOf(row: Row): JobRow {
  return {
    seq: Number(row['seq']),
    id: String(row['id']),
    kind: String(row['kind']),
    principal: String(row['principal']),
    workspaces: textOf(row['workspaces']),
    selection: String(row['selection']),
    settings: String(row['settings']),
    state: String(row['state']) as JobState,
    total: Number(row['total']),
    counts: JSON.parse(String(row['counts'])) as Record<string, number>,
    madeAt: String(row['made_at']),
    endedAt: textOf(row['ended_at']),
  };
}

function itemOf(row: Row): JobItem {
  return {
    item: Number(row['item']),
    subject: String(row['subject']),
    result: textOf(row['result']),
    detail: textOf(row['detail']),
    at: textOf(row['at']),
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
