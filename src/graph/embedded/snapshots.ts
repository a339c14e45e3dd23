import { backup, DatabaseSync } from 'node:sqlite';
import { graphUnavailable } from '../errors.ts';
import type { GraphDigest } from '../store.ts';
import { digestOf } from './export-lines.ts';
import { openForReading } from './open-database.ts';
import type { ThreadStart } from './wire.ts';

/** Pages of one step: a step does not hold the thread for longer than about a millisecond. */
const pagesOfStep = 256;

/**
 * The graph at one instant, for a backup: a connection of its own whose read transaction is begun when it is opened, so that what is applied
 * later is in no page that is copied.
 */
export class Snapshots {
  readonly #start: ThreadStart;
  readonly #open = new Map<number, DatabaseSync>();
  #next = 1;

  constructor(start: ThreadStart) {
    this.#start = start;
  }

  open(): number {
    const { database } = openForReading(this.#start);
    database.exec('BEGIN');
    // SQLite takes the snapshot with the first read.
    database.prepare('SELECT count(*) FROM meta').get();
    const id = this.#next;
    this.#next += 1;
    this.#open.set(id, database);
    return id;
  }

  /** Copies the pages into a new file, one file without a write-ahead log beside it, and reads the digest back from there. */
  async copy(id: number, path: string): Promise<GraphDigest> {
    const database = this.#open.get(id);
    if (database === undefined) throw graphUnavailable({ reason: 'its snapshot is closed' });
    await backup(database, path, { rate: pagesOfStep });
    const copy = new DatabaseSync(path);
    try {
      copy.exec('PRAGMA journal_mode = DELETE');
      return digestOf(copy);
    } finally {
      copy.close();
    }
  }

  close(id: number): void {
    this.#open.get(id)?.close();
    this.#open.delete(id);
  }
}
