/** One step of the schema. Steps are numbered from 1, never edited after a release, only added to. */
export interface Migration {
  readonly version: number;
  readonly what: string;
  readonly sql: string;
}

/**
 * Rows of real domains can't be deleted (FEN-112): without its row a domain would begin at generation 1 again, and every guard would refuse
 * the rightful writer or take an ancient one for current.
 */
const leases = `
CREATE TABLE writer_fence_lease (
  fence_name TEXT PRIMARY KEY,
  generation INTEGER NOT NULL,
  holder_token TEXT,
  holder_label TEXT,
  holder_node TEXT,
  holder_pid INTEGER,
  acquired_at TEXT,
  renewed_at TEXT,
  expires_at TEXT,
  ttl_seconds INTEGER,
  boot_id TEXT,
  expires_mono_ns INTEGER,
  UNIQUE (fence_name, generation)
) STRICT;
CREATE TRIGGER writer_fence_lease_stays BEFORE DELETE ON writer_fence_lease
WHEN OLD.fence_name NOT LIKE 'test:%'
BEGIN
  SELECT RAISE(ABORT, 'lease rows are never deleted: the generation would start again');
END;
CREATE TRIGGER writer_fence_lease_rises BEFORE UPDATE OF generation ON writer_fence_lease
WHEN NEW.generation < OLD.generation
BEGIN
  SELECT RAISE(ABORT, 'a generation never falls');
END;
CREATE TABLE writer_fence_event (
  id INTEGER PRIMARY KEY,
  fence_name TEXT NOT NULL,
  generation INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN
    ('acquired', 'renewed_late', 'released', 'taken_over', 'raised', 'expired_seen', 'cleared', 'busy_sample')),
  holder_label TEXT,
  node TEXT,
  at TEXT NOT NULL,
  detail TEXT
) STRICT;
CREATE INDEX writer_fence_event_at ON writer_fence_event (at);
`;

/**
 * An act of an operator has one id, whatever number of runs it took (ING-916). `operation_key` finds it again by what its caller named it
 * (ING-014); `audit` has one row per run, written before the run begins.
 */
const operations = `
CREATE TABLE operation_key (
  principal TEXT NOT NULL,
  verb TEXT NOT NULL,
  key TEXT NOT NULL,
  request_sha256 TEXT NOT NULL,
  operation_id TEXT NOT NULL UNIQUE,
  used_at TEXT NOT NULL,
  is_done INTEGER NOT NULL CHECK (is_done IN (0, 1)),
  answer_bytes INTEGER NOT NULL,
  answer TEXT,
  PRIMARY KEY (principal, verb, key)
) STRICT;
CREATE INDEX operation_key_used_at ON operation_key (used_at, answer_bytes);
CREATE TABLE audit (
  run INTEGER PRIMARY KEY AUTOINCREMENT,
  operation_id TEXT NOT NULL,
  verb TEXT NOT NULL,
  principal TEXT NOT NULL,
  input TEXT NOT NULL,
  outcome TEXT,
  count INTEGER,
  began_at TEXT NOT NULL,
  ended_at TEXT
) STRICT;
CREATE INDEX audit_open ON audit (run) WHERE outcome IS NULL;
`;

/**
 * A long act over many things: its selection is written down whole before it begins, so that what comes later is untouched, and each thing has its
 * result, so that a crash costs nothing but the time (SC-035). `counts` is the sum of the results, kept in the same transaction.
 */
const jobs = `
CREATE TABLE job (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  principal TEXT NOT NULL,
  workspaces TEXT,
  selection TEXT NOT NULL,
  settings TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('selecting', 'running', 'paused', 'done', 'cancelled')),
  total INTEGER NOT NULL,
  counts TEXT NOT NULL,
  made_at TEXT NOT NULL,
  ended_at TEXT
) STRICT;
CREATE INDEX job_open ON job (seq) WHERE ended_at IS NULL;
CREATE TABLE job_item (
  job INTEGER NOT NULL,
  item INTEGER NOT NULL,
  subject TEXT NOT NULL,
  result TEXT,
  detail TEXT,
  at TEXT,
  PRIMARY KEY (job, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_item_waiting ON job_item (job, item) WHERE result IS NULL;
CREATE TABLE notice (
  name TEXT PRIMARY KEY,
  told_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;

/** Sessions that are being deleted: a row is durable before anything of them goes, and goes itself when nothing is left of them. */
const removals = `
CREATE TABLE removal (
  id TEXT PRIMARY KEY,
  began_at TEXT NOT NULL,
  sessions TEXT NOT NULL,
  objects TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;

/** Large values that a retention took away: who asks for one is told that it was not lost. */
const expiredObjects = `
CREATE TABLE expired_object (
  sha256 TEXT PRIMARY KEY,
  expired_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;

export const migrations: readonly Migration[] = [
  { version: 1, what: 'lease rows and their history', sql: leases },
  { version: 2, what: 'acts of operators: their keys and the audit', sql: operations },
  { version: 3, what: 'jobs over many dead letters, and what operators were told', sql: jobs },
  { version: 4, what: 'sessions that are being deleted', sql: removals },
  { version: 5, what: 'large values that a retention took away', sql: expiredObjects },
];

export const controlSchemaVersion: number = migrations.length;
