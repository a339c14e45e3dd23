import {
  inWorkspaces,
  limitParameter,
  property,
  timeProperty,
  workspaceParameter,
  type NamedQuery,
} from './named-query.ts';

const data = property('data');
const said = (path: string): string =>
  `CASE WHEN json_valid(${data}) THEN json_extract(${data}, '${path}') END`;

/**
 * Labels find error events without a look at all others; one that has two such labels is listed once. A tool's error shows as its call, so
 * `tool:error` counts by itself only where it names none. Runs that ended badly say so in their status.
 */
export const errors: NamedQuery = {
  name: 'errors',
  tells: 'What went wrong: failed tool calls, runs that ended badly, error events; newest first',
  parameters: {
    workspace: workspaceParameter,
    session: { kind: 'session', tells: 'only errors of this session' },
    since: { kind: 'time', tells: 'only errors at this time or later' },
    limit: limitParameter,
  },
  columns: ['workspace', 'session', 'at', 'kind', 'name', 'message', 'id'],
  sql: `
WITH candidate AS (
  SELECT w.name AS workspace, o.session, n.id, n.visible, n.nid, l.name AS label
  FROM label l CROSS JOIN node_label nl CROSS JOIN node n CROSS JOIN workspace w
    CROSS JOIN owner o
  WHERE (l.name IN ('ToolCall', 'OrchestratorRun') OR l.name LIKE '%ErrorEvent' OR l.name LIKE '%FailedEvent')
    AND nl.lid = l.lid AND n.nid = nl.nid
    AND w.wid = n.wid AND o.oid = n.oid AND tick() AND ${inWorkspaces}
    AND (:session IS NULL OR o.session = :session)
),
found AS (
  SELECT workspace, session, coalesce(${timeProperty('ended_at', 'n')}, ${timeProperty('started_at', 'n')}) AS at,
    'tool' AS kind, ${property('tool_name')} AS name, ${property('result_error')} AS message, id
  FROM candidate n
  WHERE label = 'ToolCall' AND ${property('result_success')} = 0
  UNION ALL
  SELECT workspace, session, ${timeProperty('ended_at')}, 'run', ${property('status')}, ${property('response')}, id
  FROM candidate n
  WHERE label = 'OrchestratorRun' AND ${property('status')} IN ('error', 'failed', 'failure')
  UNION
  SELECT workspace, session, ${timeProperty('occurred_at')}, 'event', ${property('event_name')},
    coalesce(${said('$.error.message')}, ${said('$.error')}, ${said('$.error_message')}, ${said('$.message')}), id
  FROM candidate n
  WHERE label LIKE '%Event' AND (${property('event_name')} LIKE '%:error' OR ${property('event_name')} LIKE '%:failed')
    AND NOT (${property('event_name')} = 'tool:error' AND ${property('tool_call_id')} IS NOT NULL)
)
SELECT workspace, session, at, kind, name, message, id
FROM found
WHERE :since IS NULL OR at >= :since
ORDER BY at DESC, workspace, session, id
LIMIT :limit`,
};
