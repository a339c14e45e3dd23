import {
  hasLabel,
  inWorkspaces,
  labelNumber,
  limitParameter,
  property,
  timeProperty,
  typeNumber,
  workspaceParameter,
  type NamedQuery,
} from './named-query.ts';

/** What a session is, by its labels (D25). */
export const sessionKind = (node: string): string => `CASE
    WHEN ${hasLabel('ForkedSession', node)} THEN 'forked'
    WHEN ${hasLabel('SubSession', node)} THEN 'sub'
    WHEN ${hasLabel('RootSession', node)} THEN 'root'
    WHEN ${hasLabel('StubSession', node)} THEN 'stub'
    WHEN ${hasLabel('IncompleteSession', node)} THEN 'incomplete'
    ELSE 'untyped' END`;

/** The newest first; what a stub or an incomplete session lacks is null. */
export const sessions: NamedQuery = {
  name: 'sessions',
  tells:
    'Sessions with kind, status, parent, agent, times and number of events; last changed first',
  parameters: {
    workspace: workspaceParameter,
    kind: { kind: 'text', tells: 'only root, sub, forked, stub, incomplete or untyped ones' },
    status: { kind: 'text', tells: 'only running or completed ones' },
    parent: { kind: 'text', tells: 'only children of this session' },
    since: { kind: 'time', tells: 'only those that changed at this time or later' },
    limit: limitParameter,
  },
  columns: [
    'workspace',
    'session',
    'kind',
    'status',
    'agent',
    'parent',
    'started_at',
    'last_updated',
    'ended_at',
    'events',
  ],
  sql: `
WITH found AS (
  SELECT n.nid, w.name AS workspace, ${property('session_id')} AS session, ${sessionKind('n')} AS kind,
    ${property('status')} AS status, ${property('agent')} AS agent, ${property('parent_id')} AS parent,
    ${timeProperty('started_at')} AS started_at, ${timeProperty('last_updated')} AS last_updated,
    ${timeProperty('ended_at')} AS ended_at
  FROM node_label nl CROSS JOIN node n CROSS JOIN workspace w
  WHERE nl.lid = ${labelNumber('Session')} AND n.nid = nl.nid AND w.wid = n.wid
    AND tick() AND ${inWorkspaces}
)
SELECT workspace, session, kind, status, agent, parent, started_at, last_updated, ended_at,
  (SELECT count(*) FROM edge e WHERE e.src = found.nid AND e.tid = ${typeNumber('HAS_EVENT')}) AS events
FROM found
WHERE (:kind IS NULL OR kind = :kind) AND (:status IS NULL OR status = :status)
  AND (:parent IS NULL OR parent = :parent) AND (:since IS NULL OR last_updated >= :since)
ORDER BY last_updated DESC, workspace, session
LIMIT :limit`,
};
