import {
  hasLabel,
  inWorkspaces,
  limitParameter,
  property,
  timeProperty,
  workspaceParameter,
  type NamedQuery,
} from './named-query.ts';

/** Edges that lead from a whole to its parts, and from a session to its children. */
export const treeTypes: readonly string[] = [
  'HAS_EXECUTION',
  'HAS_PART',
  'HAS_TOOL_CALL',
  'HAS_COMPACTION',
  'HAS_SKILL_LOAD',
  'HAS_RECIPE_RUN',
  'HAS_STEP',
  'HAS_SUBSESSION',
  'FORKED',
];

/** Labels that name the kind of a node, the telling ones first. */
export const treeKinds: readonly string[] = [
  'Session',
  'OrchestratorRun',
  'Iteration',
  'ContentBlock',
  'ToolCall',
  'Prompt',
  'Cancellation',
  'ContextCompaction',
  'MountPlan',
  'SkillLoad',
  'RecipeRun',
  'RecipeStep',
];

const typeNames = treeTypes.map((type) => `'${type}'`).join(', ');
const kindNames = treeKinds.map((kind) => `'${kind}'`).join(', ');
const began = (node: string): string =>
  `coalesce(${timeProperty('started_at', node)}, ${timeProperty('occurred_at', node)})`;

/** Where a node stands among its siblings: by when it was first heard of, and a prompt before the run that it began. */
const rank = `coalesce(${began('n')}, ${timeProperty('ended_at')}, '~') || char(1) || (CASE WHEN ${hasLabel('Prompt')} THEN 0 ELSE 1 END)`;

/** Each node once under each of its wholes, depth first, siblings by time; a cycle of sessions ends where it would repeat. */
export const sessionTree: NamedQuery = {
  name: 'session-tree',
  tells:
    'One session with its runs, iterations, blocks, tool calls, prompts and child sessions, depth first',
  parameters: {
    workspace: workspaceParameter,
    session: { kind: 'session', tells: 'the session at the top', isRequired: true },
    depth: { kind: 'count', tells: 'levels below the top', default: 16, max: 64 },
    limit: { ...limitParameter, default: 1000 },
  },
  columns: [
    'workspace',
    'depth',
    'kind',
    'id',
    'parent',
    'via',
    'name',
    'status',
    'began_at',
    'ended_at',
  ],
  sql: `
WITH RECURSIVE tree (nid, parent, tid, depth, path, trail) AS (
  SELECT n.nid, NULL, NULL, 0, '', '/' || n.nid || '/'
  FROM workspace w CROSS JOIN node n
  WHERE ${inWorkspaces} AND n.wid = w.wid AND n.id = :session_node
  UNION ALL
  SELECT n.nid, tree.nid, e.tid, tree.depth + 1,
    tree.path || char(1) || ${rank} || char(1) || n.id,
    tree.trail || n.nid || '/'
  FROM tree CROSS JOIN edge e CROSS JOIN node n
  WHERE tree.depth < :depth AND e.src = tree.nid
    AND e.tid IN (SELECT tid FROM type WHERE name IN (${typeNames}))
    AND n.nid = e.dst AND tick() AND instr(tree.trail, '/' || n.nid || '/') = 0
)
SELECT w.name AS workspace, tree.depth,
  (SELECT l.name FROM node_label x CROSS JOIN label l
   WHERE x.nid = n.nid AND l.lid = x.lid AND l.name IN (${kindNames})) AS kind,
  n.id, p.id AS parent, t.name AS via,
  coalesce(${property('tool_name')}, ${property('orchestrator_name')}, ${property('agent')},
    ${property('model')}, ${property('block_type')}, ${property('skill_name')}, ${property('name')},
    substr(${property('prompt')}, 1, 80)) AS name,
  coalesce(${property('status')}, CASE ${property('result_success')} WHEN 0 THEN 'failed' WHEN 1 THEN 'ok' END) AS status,
  ${began('n')} AS began_at, ${timeProperty('ended_at')} AS ended_at
FROM tree CROSS JOIN node n ON n.nid = tree.nid CROSS JOIN workspace w ON w.wid = n.wid
  LEFT JOIN node p ON p.nid = tree.parent LEFT JOIN type t ON t.tid = tree.tid
ORDER BY w.name, tree.path
LIMIT :limit`,
};
