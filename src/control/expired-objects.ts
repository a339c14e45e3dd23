import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '#base';
import { classified, inTransaction, timeOf } from './transaction.ts';

/** Large values that a retention took away. */
export interface ExpiredObjectRows {
  /** Durable before the values go; said again, the first time counts. */
  note(sha256s: readonly string[]): void;
  /** When it was taken away, RFC 3339 UTC; undefined for one that never was. */
  expiredAt(sha256: string): string | undefined;
}

export function expiredObjectsOver(
  database: DatabaseSync,
  path: string,
  clock: Clock,
): ExpiredObjectRows {
  const write = database.prepare(
    'INSERT OR IGNORE INTO expired_object (sha256, expired_at) VALUES (?, ?)',
  );
  const read = database.prepare('SELECT expired_at FROM expired_object WHERE sha256 = ?');
  return {
    note: (sha256s) =>
      classified(path, () =>
        inTransaction(database, () => {
          for (const sha256 of sha256s) write.run(sha256, timeOf(clock));
        }),
      ),
    expiredAt: (sha256) =>
      classified(path, () => {
        const row = read.get(sha256);
        return row === undefined ? undefined : String(row['expired_at']);
      }),
  };
}
