import {
  inWorkspaces,
  labelNumber,
  limitParameter,
  property,
  timeProperty,
  workspaceParameter,
  type NamedQuery,
} from './named-query.ts';

/** Whole milliseconds: the difference of two floating days is not. */
const elapsedMs = `round((julianday(${timeProperty('ended_at')}) - julianday(${timeProperty('started_at')})) * 86400000)`;

export const toolCalls: NamedQuery = {
  name: 'tool-calls',
  tells: 'Tool calls by name: how many, how many failed, how many never ended, how long they took',
  parameters: {
    workspace: workspaceParameter,
    session: { kind: 'session', tells: 'only calls of this session' },
    tool: { kind: 'text', tells: 'only this tool' },
    limit: limitParameter,
  },
  columns: ['workspace', 'tool', 'calls', 'failures', 'unfinished', 'sessions', 'average_ms'],
  sql: `
WITH call AS (
  SELECT w.name AS workspace, ${property('tool_name')} AS tool, n.oid,
    ${property('result_success')} AS is_success, ${timeProperty('ended_at')} AS ended_at,
    ${elapsedMs} AS elapsed_ms
  FROM node_label nl CROSS JOIN node n CROSS JOIN workspace w
  WHERE nl.lid = ${labelNumber('ToolCall')} AND n.nid = nl.nid AND w.wid = n.wid
    AND tick() AND ${inWorkspaces}
    AND (:session IS NULL OR n.oid IN (SELECT oid FROM owner WHERE session = :session))
)
SELECT workspace, tool, count(*) AS calls, sum(is_success IS 0) AS failures,
  sum(ended_at IS NULL) AS unfinished, count(DISTINCT oid) AS sessions,
  CAST(round(avg(elapsed_ms)) AS INTEGER) AS average_ms
FROM call
WHERE :tool IS NULL OR tool = :tool
GROUP BY workspace, tool
ORDER BY calls DESC, workspace, tool
LIMIT :limit`,
};
