/**
 * Version 1 of the graph file (facts that settled it: docs/graph.md). Names of workspaces, owners, labels and types are kept once. Property text
 * is canonical (RFC 8785), so that an export hardly parses; `visible` is what queries read. Every label row says who the label comes from.
 */
export const graphFormatVersion = 1;

/** "mlrc": tells our file from any other SQLite database. */
export const graphApplicationId = 0x6d6c7263;

export const schemaSql = `
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE fence_mark (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  domain TEXT NOT NULL,
  generation INTEGER NOT NULL,
  holder TEXT NOT NULL
) STRICT;
CREATE TABLE workspace (wid INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE label (lid INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE type (tid INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE owner (
  oid INTEGER PRIMARY KEY,
  wid INTEGER NOT NULL,
  session TEXT NOT NULL,
  UNIQUE (wid, session)
) STRICT;
CREATE TABLE node (
  nid INTEGER PRIMARY KEY,
  wid INTEGER NOT NULL,
  id TEXT NOT NULL,
  oid INTEGER,
  is_stub INTEGER NOT NULL,
  props TEXT NOT NULL,
  derived TEXT,
  visible TEXT GENERATED ALWAYS AS
    (CASE WHEN derived IS NULL THEN props ELSE json_patch(derived, props) END) VIRTUAL,
  UNIQUE (wid, id)
) STRICT;
CREATE TABLE node_label (
  nid INTEGER NOT NULL,
  lid INTEGER NOT NULL,
  sources INTEGER NOT NULL,
  PRIMARY KEY (nid, lid)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_label_by_label ON node_label (lid, nid);
CREATE TABLE edge (
  src INTEGER NOT NULL,
  tid INTEGER NOT NULL,
  dst INTEGER NOT NULL,
  props TEXT NOT NULL,
  occurred_at TEXT,
  PRIMARY KEY (src, tid, dst)
) STRICT, WITHOUT ROWID;
CREATE INDEX edge_in ON edge (dst, tid, src);
CREATE TABLE session_fact (
  oid INTEGER NOT NULL,
  source TEXT NOT NULL,
  type TEXT NOT NULL,
  fact TEXT NOT NULL,
  PRIMARY KEY (oid, source, type)
) STRICT, WITHOUT ROWID;
CREATE TABLE concept_source (
  nid INTEGER NOT NULL,
  oid INTEGER NOT NULL,
  occurred_at TEXT NOT NULL,
  PRIMARY KEY (nid, oid)
) STRICT, WITHOUT ROWID;
CREATE TABLE applied_row (
  key TEXT PRIMARY KEY,
  root_id TEXT NOT NULL,
  position TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;
