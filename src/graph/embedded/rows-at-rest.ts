import { messageOf } from '#base';
import { openDatabaseAtRest } from '#disk';
import type { Key, Position } from '#record';
import { graphCorrupt } from '../errors.ts';
import type { AppliedRow } from '../store.ts';
import { isDamage } from './classify.ts';
import { openAtRest } from './open-database.ts';

/** What the graph of a root that nobody serves says of each key. */
export interface RowsAtRest {
  readonly graphId: string;
  row(key: Key): AppliedRow | null;
  close(): void;
}

/** Damage that a read meets is told as such. */
function readOr<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isDamage(error)) throw error;
    throw graphCorrupt({ path, reason: messageOf(error) }, error);
  }
}

/** The file MUST be there. GRAPH_CORRUPT, FORMAT_TOO_NEW, or GRAPH_UNAVAILABLE for a database of another program. */
export function openRowsAtRest(path: string): RowsAtRest {
  const { database, opened } = openAtRest(path, () => openDatabaseAtRest(path));
  const select = database.prepare(
    'SELECT root_id, position, sha256 FROM applied_row WHERE key = ?',
  );
  return {
    graphId: opened.graphId,
    row(key) {
      const found = readOr(path, () => select.get(key));
      if (found === undefined) return null;
      const { root_id: rootId, position, sha256 } = found;
      return {
        rootId: String(rootId),
        position: String(position) as Position,
        sha256: String(sha256),
      };
    },
    close: () => database.close(),
  };
}
