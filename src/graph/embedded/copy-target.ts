import type { DatabaseSync } from 'node:sqlite';
import type { CopyPage, CopyProgress, CopyTargetGraph, GraphIdentity } from '../copy-graph.ts';
import type { FenceMark } from '../fence-mark.ts';
import { digestOf } from './export-lines.ts';
import { openForWriting } from './open-database.ts';
import { StoredGraph } from './stored-graph.ts';
import { ChangeWriter } from './write-changes.ts';

const tables = [
  'fence_mark',
  'applied_row',
  'concept_source',
  'session_fact',
  'edge',
  'node_label',
  'node',
  'owner',
  'type',
  'label',
  'workspace',
];
const progressName = 'copy_progress';
const copyWalBytes = 16 * 2 ** 20;

const keepMetaSql = `
INSERT INTO meta (name, value) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

const writeRowSql = `
INSERT INTO applied_row (key, root_id, position, sha256, generation) VALUES (?, ?, ?, ?, 0)
ON CONFLICT (key) DO UPDATE SET root_id = excluded.root_id, position = excluded.position,
  sha256 = excluded.sha256`;

/** A new graph file; the caller gives it the name of a graph once it is whole. */
export function openCopyTarget(path: string): CopyTargetGraph {
  const made = { newGraphId: 'copying', newSpillBytes: 1, lockWaitMs: 0 };
  const { database } = openForWriting({ path, ...made, walBytesMax: copyWalBytes, check: 'quick' });
  return new FileTarget(database);
}

class FileTarget implements CopyTargetGraph {
  readonly #database: DatabaseSync;
  #graph: StoredGraph;
  #writer: ChangeWriter;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#graph = new StoredGraph(database);
    this.#writer = new ChangeWriter(database, this.#graph);
  }

  progress(): Promise<CopyProgress | undefined> {
    const row = this.#database.prepare('SELECT value FROM meta WHERE name = ?').get(progressName);
    return Promise.resolve(
      row === undefined ? undefined : (JSON.parse(String(row['value'])) as CopyProgress),
    );
  }

  begin(progress: CopyProgress): Promise<void> {
    this.#transact(() => {
      for (const table of tables) this.#database.exec(`DELETE FROM ${table}`);
      this.#keep(progressName, JSON.stringify(progress));
    });
    this.#graph = new StoredGraph(this.#database);
    this.#writer = new ChangeWriter(this.#database, this.#graph);
    return Promise.resolve();
  }

  write({ changes, rows }: CopyPage, progress: CopyProgress): Promise<void> {
    this.#transact(() => {
      for (const [workspace, changed] of changes) this.#writer.write(workspace, changed);
      const writeRow = this.#database.prepare(writeRowSql);
      for (const [key, { rootId, position, sha256 }] of rows)
        writeRow.run(key, rootId, position, sha256);
      this.#keep(progressName, JSON.stringify(progress));
    });
    return Promise.resolve();
  }

  digest(): ReturnType<CopyTargetGraph['digest']> {
    return Promise.resolve(digestOf(this.#database));
  }

  finish({ graphId, spillBytes }: GraphIdentity, mark: FenceMark | undefined): Promise<void> {
    this.#transact(() => {
      this.#keep('graph_id', graphId);
      this.#keep('spill_bytes', String(spillBytes));
      this.#database.prepare('DELETE FROM meta WHERE name = ?').run(progressName);
      if (mark !== undefined)
        this.#database
          .prepare(
            'INSERT INTO fence_mark (only_row, domain, generation, holder) VALUES (1, ?, ?, ?)',
          )
          .run(mark.domain, mark.generation, mark.holder);
    });
    return Promise.resolve();
  }

  /** One file: what is in the log goes into it. */
  close(): Promise<void> {
    this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    this.#database.close();
    return Promise.resolve();
  }

  #keep(name: string, value: string): void {
    this.#database.prepare(keepMetaSql).run(name, value);
  }

  #transact(fn: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      fn();
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#graph.forget();
      this.#database.exec('ROLLBACK');
      throw error;
    }
  }
}
