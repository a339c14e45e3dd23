import type { DatabaseSync } from 'node:sqlite';
import type { GraphRemoval, QuietSession } from '../removal.ts';

/** The last time that a session's own node `n` tells; one without any time is never quiet. */
export const lastAtSql = `coalesce(
  json_extract(n.props, '$.last_updated."$time"'),
  json_extract(n.props, '$.ended_at."$time"'),
  json_extract(n.props, '$.started_at."$time"'))`;

const quietSql = `
SELECT w.name AS workspace, o.session AS session, ${lastAtSql} AS last_at
FROM node_label l CROSS JOIN node n CROSS JOIN workspace w CROSS JOIN owner o
WHERE l.lid = (SELECT lid FROM label WHERE name = 'Session')
  AND n.nid = l.nid AND n.is_stub = 0 AND w.wid = n.wid AND o.oid = n.oid
  AND (? IS NULL OR w.name IN (SELECT value FROM json_each(?)))
  AND ${lastAtSql} < ?
ORDER BY last_at, workspace, session
LIMIT ?`;

export function quietSessions(
  database: DatabaseSync,
  { before, limit, workspaces }: Parameters<GraphRemoval['quiet']>[0],
): readonly QuietSession[] {
  const names = workspaces === undefined ? null : JSON.stringify(workspaces);
  return database
    .prepare(quietSql)
    .all(names, names, before, limit)
    .map((row) => ({
      workspace: String(row['workspace']),
      session: String(row['session']),
      lastAt: String(row['last_at']),
    }));
}
