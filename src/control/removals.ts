import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '#base';
import { openDatabaseAtRest } from '#disk';
import { classified, timeOf } from './transaction.ts';

/** A deletion that was begun. Texts of JSON. */
export interface RemovalRow {
  readonly id: string;
  /** RFC 3339 UTC. */
  readonly beganAt: string;
  /** Keys, workspaces and session ids. */
  readonly sessions: string;
  /** Ids of objects that only these sessions may have named. */
  readonly objects: string;
}

/** Deletions on their way; each call is one durable transaction. */
export interface RemovalRows {
  begin(row: Omit<RemovalRow, 'beganAt'>): void;
  /** Those that were begun and have not ended, oldest first. */
  list(): readonly RemovalRow[];
  end(id: string): void;
}

/** The `sessions` of deletions that are on their way in a file that is there and that nobody writes. CONTROL_CORRUPT, CONTROL_UNAVAILABLE. */
export function removalsAtRest(path: string): readonly string[] {
  return classified(path, () => {
    const database = openDatabaseAtRest(path);
    try {
      const table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'removal'";
      if (database.prepare(table).get() === undefined) return [];
      const rows = database.prepare('SELECT sessions FROM removal').all();
      return rows.map(({ sessions }) => String(sessions));
    } finally {
      database.close();
    }
  });
}

export function removalsOver(database: DatabaseSync, path: string, clock: Clock): RemovalRows {
  const begin = database.prepare(
    'INSERT INTO removal (id, began_at, sessions, objects) VALUES (?, ?, ?, ?)',
  );
  const list = database.prepare(
    'SELECT id, began_at, sessions, objects FROM removal ORDER BY began_at, id',
  );
  const end = database.prepare('DELETE FROM removal WHERE id = ?');
  return {
    begin: ({ id, sessions, objects }) =>
      classified(path, () => void begin.run(id, timeOf(clock), sessions, objects)),
    list: () =>
      classified(path, () =>
        list.all().map((row) => ({
          id: String(row['id']),
          beganAt: String(row['began_at']),
          sessions: String(row['sessions']),
          objects: String(row['objects']),
        })),
      ),
    end: (id) => classified(path, () => void end.run(id)),
  };
}
