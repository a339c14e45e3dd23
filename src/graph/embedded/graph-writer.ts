import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { fenceStale } from '#fence';
import type { Position } from '#record';
import { checkMutations } from '../check-mutations.ts';
import { graphMismatch } from '../errors.ts';
import { checkFence, type FenceMark } from '../fence-mark.ts';
import { mergeGroup, type PartMutations } from '../merge-group.ts';
import { planSteps } from '../plan-steps.ts';
import type { AppliedRow, WhichRows } from '../store.ts';
import type { GraphRemovalCounts, RemovedSession } from '../removal.ts';
import { SessionRemover } from './remove-sessions.ts';
import { StoredGraph } from './stored-graph.ts';
import type { RowEntry, WirePart } from './wire.ts';
import { ChangeWriter } from './write-changes.ts';

const writeMarkSql = `
INSERT INTO fence_mark (only_row, domain, generation, holder) VALUES (1, ?, ?, ?)
ON CONFLICT (only_row) DO UPDATE SET
  domain = excluded.domain, generation = excluded.generation, holder = excluded.holder`;

const writeRowSql = `
INSERT INTO applied_row (key, root_id, position, sha256, generation) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET root_id = excluded.root_id, position = excluded.position,
  sha256 = excluded.sha256, generation = excluded.generation`;

/** The one writer of a graph file; synchronous, so it lives in a thread of its own. Every method is one transaction: all of it or nothing. */
export class GraphWriter {
  readonly #database: DatabaseSync;
  readonly #graph: StoredGraph;
  readonly #changes: ChangeWriter;
  readonly #remover: SessionRemover;
  readonly #readMark: StatementSync;
  readonly #writeMark: StatementSync;
  readonly #readRow: StatementSync;
  readonly #listRows: StatementSync;
  readonly #writeRow: StatementSync;
  readonly #deleteRow: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#graph = new StoredGraph(database);
    this.#changes = new ChangeWriter(database, this.#graph);
    this.#remover = new SessionRemover(database, this.#graph, this.#changes);
    this.#readMark = database.prepare('SELECT domain, generation, holder FROM fence_mark');
    this.#writeMark = database.prepare(writeMarkSql);
    this.#readRow = database.prepare(
      'SELECT root_id, position, sha256 FROM applied_row WHERE key = ?',
    );
    this.#listRows = database.prepare(
      'SELECT key, root_id, position, sha256 FROM applied_row WHERE key > ? ORDER BY key LIMIT ?',
    );
    this.#writeRow = database.prepare(writeRowSql);
    this.#deleteRow = database.prepare('DELETE FROM applied_row WHERE key = ?');
  }

  /** Raises the mark before anything is read: from here on an older writer is shut out (FEN-403). */
  arm(fence: FenceMark, keys: readonly string[]): readonly RowEntry[] {
    return this.#transact(() => {
      this.#guard(fence);
      return keys.map((key) => [key, this.#row(key) ?? null]);
    });
  }

  /** Fence, mutations, derived values, rows (ING-533). */
  apply(fence: FenceMark, rootId: string, group: readonly WirePart[]): void {
    this.#transact(() => {
      this.#guard(fence);
      const parts = group.flatMap((part) => this.#advance(fence, rootId, part));
      for (const [workspace, changes] of mergeGroup(this.#graph, parts))
        this.#changes.write(workspace, changes);
    });
  }

  adopt(fence: FenceMark, rows: readonly RowEntry[]): void {
    this.#transact(() => {
      this.#guard(fence, { mayTakeOver: true });
      for (const [key, row] of rows) {
        if (row === null) this.#deleteRow.run(key);
        else this.#writeRow.run(key, row.rootId, row.position, row.sha256, fence.generation);
      }
    });
  }

  survey(workspace: string, session: string): ReturnType<SessionRemover['survey']> {
    return this.#remover.survey(workspace, session);
  }

  descendants(workspace: string, session: string): readonly string[] {
    return this.#remover.descendants(workspace, session);
  }

  remove(fence: FenceMark, sessions: readonly RemovedSession[]): GraphRemovalCounts {
    return this.#transact(() => {
      this.#guard(fence);
      return this.#remover.remove(sessions);
    });
  }

  rows(which: WhichRows): readonly RowEntry[] {
    if ('keys' in which)
      return which.keys.flatMap((key) => {
        const row = this.#row(key);
        return row === undefined ? [] : [[key, row] as const];
      });
    const { after = '', limit } = which;
    return this.#listRows.all(after, limit).map((row) => [String(row['key']), rowOf(row)]);
  }

  /** The file is written anew without its free pages, in one step; then the write-ahead log goes into it. */
  vacuum(): void {
    this.#database.exec('VACUUM');
    this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  /** Takes the write lock and gives it back. */
  probe(): void {
    this.#database.exec('BEGIN IMMEDIATE');
    this.#database.exec('ROLLBACK');
  }

  /** The write-ahead log goes into the file, so that a closed graph is one file. */
  close(): void {
    this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    this.#database.close();
  }

  #transact<T>(fn: () => T): T {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const result = fn();
      this.#database.exec('COMMIT');
      return result;
    } catch (error) {
      this.#graph.forget();
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  #guard(fence: FenceMark, options: { readonly mayTakeOver?: boolean } = {}): void {
    const { domain, generation, holder } = fence;
    const mark = this.#readMark.get() as FenceMark | undefined;
    const verdict = checkFence(mark, fence);
    if (verdict === 'stale')
      throw fenceStale({ domain, thing: 'the graph', generation, mark: mark?.generation ?? 0 });
    if (verdict === 'foreign' && options.mayTakeOver !== true)
      throw graphMismatch({ thing: 'the guard', expected: domain, found: mark?.domain ?? '' });
    if (verdict !== 'pass') this.#writeMark.run(domain, generation, holder);
  }

  /** The steps that are not applied yet, behind the key's row, which moves to the last of them. */
  #advance(fence: FenceMark, rootId: string, part: WirePart): PartMutations[] {
    const { key, workspace, session } = part;
    for (const { mutations } of part.steps) checkMutations(session, mutations);
    const row = this.#row(key);
    if (row !== undefined && row.rootId !== rootId)
      throw graphMismatch({ thing: `the row of ${key}`, expected: rootId, found: row.rootId });
    const planned = planSteps(part.steps, row?.position);
    if (planned === undefined) return [];
    const { after, sha256 } = planned.last;
    this.#writeRow.run(key, rootId, after, sha256, fence.generation);
    return [{ workspace, session, steps: planned.steps }];
  }

  #row(key: string): AppliedRow | undefined {
    const row = this.#readRow.get(key);
    return row === undefined ? undefined : rowOf(row);
  }
}

function rowOf(row: Readonly<Record<string, unknown>>): AppliedRow {
  return {
    rootId: String(row['root_id']),
    position: String(row['position']) as Position,
    sha256: String(row['sha256']),
  };
}
