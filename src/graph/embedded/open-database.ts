import { DatabaseSync } from 'node:sqlite';
import { formatTooNew, messageOf } from '#base';
import { graphCorrupt, graphMismatch, graphUnavailable } from '../errors.ts';
import { isDamage } from './classify.ts';
import { graphApplicationId, graphFormatVersion, schemaSql } from './schema.ts';
import type { Opened, ThreadStart, WriterStart } from './wire.ts';

/**
 * FULL: a commit is on disk before it is answered (ING-855). 16 MiB of page cache and a checkpoint each 4000 pages cost the first load nothing
 * that could be measured against larger values.
 */
const writerPragmas = `
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA cache_size = -16384;
`;
const pageBytes = 4096;

/** What the log holds must find room in the file beside it, so a small file system gets a short one (QFS-30). */
function walPragmas(walBytesMax: number): string {
  const pages = Math.max(1, Math.floor(walBytesMax / pageBytes));
  return `PRAGMA wal_autocheckpoint = ${pages}; PRAGMA journal_size_limit = ${4 * walBytesMax};`;
}

/** Opens the graph for its one writer; makes it when the file is new. The folder MUST exist. */
export function openForWriting(start: WriterStart): {
  readonly database: DatabaseSync;
  readonly opened: Opened;
} {
  return opening(
    () => new DatabaseSync(start.path, { timeout: start.lockWaitMs }),
    start.path,
    (database) => {
      checkForm(database, start.path);
      checkPages(database, start);
      database.exec(writerPragmas);
      database.exec(walPragmas(start.walBytesMax));
      database.exec('BEGIN IMMEDIATE');
      if (readVersion(database) === 0) makeGraph(database, start);
      database.exec('COMMIT');
      return readOpened(database, start);
    },
  );
}

/** Opens a connection that sees what was committed and can change nothing. */
export function openForReading(start: ThreadStart): {
  readonly database: DatabaseSync;
  readonly opened: Opened;
} {
  return opening(
    () => new DatabaseSync(start.path, { readOnly: true, timeout: 5000 }),
    start.path,
    (database) => {
      checkForm(database, start.path);
      database.exec('PRAGMA cache_size = -8192');
      return readOpened(database, start);
    },
  );
}

/** The same for a file that nobody writes. */
export function openAtRest(
  path: string,
  open: () => DatabaseSync,
): { readonly database: DatabaseSync; readonly opened: Opened } {
  return opening(open, path, (database) => {
    checkForm(database, path);
    return readOpened(database, { path });
  });
}

function opening(
  open: () => DatabaseSync,
  path: string,
  prepare: (database: DatabaseSync) => Opened,
): { readonly database: DatabaseSync; readonly opened: Opened } {
  const database = open();
  try {
    return { database, opened: prepare(database) };
  } catch (error) {
    database.close();
    if (!isDamage(error)) throw error;
    throw graphCorrupt({ path, reason: messageOf(error) }, error);
  }
}

/** A larger graph would hold up the start (ING-821): damage of it shows at the first read that meets it. */
const checkedBytesMax = { quick: 64 * 1024 * 1024, full: 128 * 1024 * 1024 } as const;

/** Follows every page of a graph that is not large: what is torn, emptied or out of place is found before anything is built on it (P7). */
function checkPages(database: DatabaseSync, { path, check }: WriterStart): void {
  if (check === 'none') return;
  const pages = Number(database.prepare('PRAGMA page_count').get()?.['page_count']);
  if (pages * pageBytes > checkedBytesMax[check]) return;
  const pragma = check === 'quick' ? 'quick_check' : 'integrity_check';
  const reason = String(database.prepare(`PRAGMA ${pragma}(1)`).get()?.[pragma]);
  if (reason !== 'ok') throw graphCorrupt({ path, reason: reason.replaceAll(/\s+/g, ' ') });
}

/** A file of a newer version, or of another program, is left untouched. */
function checkForm(database: DatabaseSync, path: string): void {
  const found = readVersion(database);
  const application = Number(database.prepare('PRAGMA application_id').get()?.['application_id']);
  const isOurs = application === graphApplicationId;
  if (isOurs && found > graphFormatVersion)
    throw formatTooNew({ thing: `the graph ${path}`, found, known: graphFormatVersion });
  const tables = Number(database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.['n']);
  if (!isOurs && tables > 0)
    throw graphUnavailable({ reason: `${path} is a database of another program` });
}

function readVersion(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
}

function makeGraph(database: DatabaseSync, start: WriterStart): void {
  database.exec(schemaSql);
  const insert = database.prepare('INSERT INTO meta (name, value) VALUES (?, ?)');
  insert.run('graph_id', start.newGraphId);
  insert.run('spill_bytes', String(start.newSpillBytes));
  database.exec(`PRAGMA application_id = ${graphApplicationId}`);
  database.exec(`PRAGMA user_version = ${graphFormatVersion}`);
}

function readOpened(database: DatabaseSync, start: ThreadStart): Opened {
  const read = database.prepare('SELECT value FROM meta WHERE name = ?');
  const graphId = String(read.get('graph_id')?.['value']);
  if (start.graphId !== undefined && graphId !== start.graphId)
    throw graphMismatch({
      thing: `the id (${start.path})`,
      expected: start.graphId,
      found: graphId,
    });
  return { graphId, spillBytes: Number(read.get('spill_bytes')?.['value']) };
}
