import {
  inWorkspaces,
  labelNumber,
  limitParameter,
  property,
  workspaceParameter,
  type NamedQuery,
} from './named-query.ts';

export const tokenUsage: NamedQuery = {
  name: 'token-usage',
  tells:
    'Tokens by session and model: input, output, read from and written to the cache; most first',
  parameters: {
    workspace: workspaceParameter,
    session: { kind: 'session', tells: 'only this session' },
    model: { kind: 'text', tells: 'only this model' },
    limit: limitParameter,
  },
  columns: [
    'workspace',
    'session',
    'provider',
    'model',
    'iterations',
    'input',
    'output',
    'cache_read',
    'cache_write',
    'cost_usd',
  ],
  sql: `
WITH used AS (
  SELECT w.name AS workspace, o.session, ${property('provider')} AS provider, ${property('model')} AS model,
    ${property('usage_input')} AS input, ${property('usage_output')} AS output,
    ${property('usage_cache_read')} AS cache_read, ${property('usage_cache_write')} AS cache_write,
    ${property('usage_cost_usd')} AS cost_usd, n.id
  FROM node_label nl CROSS JOIN node n CROSS JOIN workspace w CROSS JOIN owner o
  WHERE nl.lid = ${labelNumber('Iteration')} AND n.nid = nl.nid AND w.wid = n.wid AND o.oid = n.oid
    AND tick() AND ${inWorkspaces} AND (:session IS NULL OR o.session = :session)
)
SELECT workspace, session, provider, model, count(*) AS iterations, total(input) AS input,
  total(output) AS output, total(cache_read) AS cache_read, total(cache_write) AS cache_write,
  round(sum(cost_usd), 6) AS cost_usd
FROM used
WHERE :model IS NULL OR model = :model
GROUP BY workspace, session, provider, model
ORDER BY total(input) + total(output) DESC, workspace, session, provider, model
LIMIT :limit`,
};
