import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

const lockWaitMs = 5000;

/**
 * Opens a SQLite database that is there and that nobody writes, for reading alone. No file is made or changed, but for one: where a writer was killed, SQLite
 * makes the index (`-shm`) of the log that it left anew.
 */
export function openDatabaseAtRest(path: string): DatabaseSync {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  if (log !== undefined && log.size > 0)
    return new DatabaseSync(path, { readOnly: true, timeout: lockWaitMs });
  const address = pathToFileURL(path);
  address.searchParams.set('immutable', '1');
  return new DatabaseSync(address, { readOnly: true });
}
