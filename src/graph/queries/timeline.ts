import { momentOrder } from './moment-order.ts';
import {
  inWorkspaces,
  limitParameter,
  property,
  timeProperty,
  typeNumber,
  workspaceParameter,
  type NamedQuery,
} from './named-query.ts';

/** By time; of one instant by what must come first, then by node id. */
export const timeline: NamedQuery = {
  name: 'timeline',
  tells: 'The events of one session in order of time',
  parameters: {
    workspace: workspaceParameter,
    session: { kind: 'session', tells: 'whose events', isRequired: true },
    event: { kind: 'text', tells: 'only events of this name' },
    since: { kind: 'time', tells: 'only events at this time or later' },
    until: { kind: 'time', tells: 'only events before this time' },
    limit: { ...limitParameter, default: 1000 },
  },
  columns: ['workspace', 'at', 'event', 'tool', 'detail', 'id'],
  sql: `
WITH told AS (
  SELECT w.name AS workspace, ${timeProperty('occurred_at')} AS at, ${property('event_name')} AS event,
    ${property('tool_name')} AS tool,
    substr(coalesce(${property('prompt')}, ${property('path')}, ${property('model')}, ${property('agent')},
      ${property('skill_name')}, ${property('recipe_name')}), 1, 120) AS detail, n.id
  FROM workspace w CROSS JOIN node s CROSS JOIN edge e CROSS JOIN node n
  WHERE ${inWorkspaces} AND s.wid = w.wid AND s.id = :session_node
    AND e.src = s.nid AND e.tid = ${typeNumber('HAS_EVENT')} AND n.nid = e.dst AND tick()
)
SELECT workspace, at, event, tool, detail, id
FROM told
WHERE (:event IS NULL OR event = :event) AND (:since IS NULL OR at >= :since)
  AND (:until IS NULL OR at < :until)
ORDER BY workspace, at, ${momentOrder('event')}, id
LIMIT :limit`,
};
