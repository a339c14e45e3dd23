import {
  inWorkspaces,
  labelNumber,
  limitParameter,
  property,
  timeProperty,
  workspaceParameter,
  type NamedQuery,
} from './named-query.ts';

/** The fold lifts the path out of a tool's input (`file_path`, `path`, `notebook_path`, `filename`); artifact events name it themselves. */
export const filesTouched: NamedQuery = {
  name: 'files-touched',
  tells:
    'Files that tool calls and artifact events name: how often, by which tools, in how many sessions, when',
  parameters: {
    workspace: workspaceParameter,
    session: { kind: 'session', tells: 'only what this session touched' },
    contains: { kind: 'text', tells: 'only paths that contain this text' },
    limit: limitParameter,
  },
  columns: ['workspace', 'path', 'touches', 'tools', 'sessions', 'first_at', 'last_at'],
  sql: `
WITH touch AS (
  SELECT w.name AS workspace, coalesce(${property('file_path')}, ${property('path')}) AS path, n.oid,
    coalesce(${property('tool_name')}, ${property('event_name')}) AS tool,
    coalesce(${timeProperty('started_at')}, ${timeProperty('occurred_at')}) AS at
  FROM node_label nl CROSS JOIN node n CROSS JOIN workspace w
  WHERE nl.lid IN (${labelNumber('ToolCall')}, ${labelNumber('ArtifactEvent')})
    AND n.nid = nl.nid AND w.wid = n.wid AND tick() AND ${inWorkspaces}
    AND (:session IS NULL OR n.oid IN (SELECT oid FROM owner WHERE session = :session))
)
SELECT workspace, path, count(*) AS touches, group_concat(DISTINCT tool ORDER BY tool) AS tools,
  count(DISTINCT oid) AS sessions, min(at) AS first_at, max(at) AS last_at
FROM touch
WHERE path IS NOT NULL AND (:contains IS NULL OR instr(path, :contains) > 0)
GROUP BY workspace, path
ORDER BY touches DESC, workspace, path
LIMIT :limit`,
};
