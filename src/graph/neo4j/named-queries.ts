import { isJsonObject, type JsonValue } from '#base';
import type { QueryBindings } from '../queries/bind-parameters.ts';
import type { NamedQuery } from '../queries/named-query.ts';
import { namedQuery } from '../queries/named-queries.ts';
import { momentOrder } from '../queries/moment-order.ts';
import type { QueryResult } from '../store.ts';
import { answerOf, EndIds } from './answer-values.ts';
import { statement } from './cypher.ts';
import type { Row, Transaction } from './link.ts';
import { sessionTreeRows } from './session-tree.ts';
import { nodeLabel } from './stored-form.ts';

/** A named query in the Cypher of the server. What it cannot say, the row is finished with. */
interface ServerQuery {
  /** Given the condition that keeps it to one session, or to none. */
  text(ofSession: string): string;
  finish?(row: Row): Row;
}

const inWorkspaces = '($workspace IS NULL OR n.workspace IN $workspace)';
/** The session that owns a node: it says so, or its id begins with the id of the session's node. */
const owner = "coalesce(n.session_id, split(n.node_id, '::')[0])";
/** Ids of what a session owns begin with its own: an index finds them. */
const ofOneSession = `n.node_id STARTS WITH $session_node AND ${owner} IN [$session, $session_node]`;
const ofAnySession = 'true';

/** The embedded store has nulls first where it goes up, and last where it goes down. */
function upwards(...names: readonly string[]): string {
  return names.map((name) => `${name} IS NOT NULL, ${name}`).join(', ');
}

function downwards(name: string): string {
  return `${name} IS NULL, ${name} DESC`;
}

/** Rounded, as SQLite does it; `epochMillis` cuts off. */
function millis(time: string): string {
  return `(${time}.epochSeconds * 1000 + toInteger(round(${time}.nanosecond / 1000000.0)))`;
}

/** A client may have sent a text where a number should be. */
function total(property: string): string {
  return `sum(toFloatOrNull(${property}))`;
}

const sessions: ServerQuery = {
  text: () => `MATCH (n:${nodeLabel}&Session) WHERE ${inWorkspaces}
WITH n, CASE WHEN n:ForkedSession THEN 'forked' WHEN n:SubSession THEN 'sub' WHEN n:RootSession THEN 'root'
  WHEN n:StubSession THEN 'stub' WHEN n:IncompleteSession THEN 'incomplete' ELSE 'untyped' END AS kind
WHERE ($kind IS NULL OR kind = $kind) AND ($status IS NULL OR n.status = $status)
  AND ($parent IS NULL OR n.parent_id = $parent)
  AND ($since IS NULL OR n.last_updated >= datetime($since))
WITH n, kind ORDER BY ${downwards('n.last_updated')}, ${upwards('n.workspace', 'n.session_id')} LIMIT $limit
RETURN n.workspace AS workspace, n.session_id AS session, kind, n.status AS status, n.agent AS agent,
  n.parent_id AS parent, n.started_at AS started_at, n.last_updated AS last_updated, n.ended_at AS ended_at,
  COUNT { (n)-[:HAS_EVENT]->() } AS events
ORDER BY ${downwards('last_updated')}, ${upwards('workspace', 'session')}`,
};

const toolCalls: ServerQuery = {
  text: (ofSession) => `MATCH (n:${nodeLabel}&ToolCall)
WHERE ${inWorkspaces} AND ${ofSession} AND ($tool IS NULL OR n.tool_name = $tool)
WITH n.workspace AS workspace, n.tool_name AS tool, ${owner} AS owner, n.ended_at AS ended_at,
  n.result_success AS success, ${millis('n.ended_at')} - ${millis('n.started_at')} AS elapsed
WITH workspace, tool, count(*) AS calls, sum(CASE WHEN success = false THEN 1 ELSE 0 END) AS failures,
  sum(CASE WHEN ended_at IS NULL THEN 1 ELSE 0 END) AS unfinished, count(DISTINCT owner) AS sessions,
  CASE count(elapsed) WHEN 0 THEN null ELSE toInteger(round(toFloat(sum(elapsed)) / count(elapsed))) END AS average_ms
RETURN workspace, tool, calls, failures, unfinished, sessions, average_ms
ORDER BY calls DESC, ${upwards('workspace', 'tool')} LIMIT $limit`,
};

const filesTouched: ServerQuery = {
  text: (
    ofSession,
  ) => `MATCH (n:${nodeLabel}&(ToolCall|ArtifactEvent)) WHERE ${inWorkspaces} AND ${ofSession}
WITH n.workspace AS workspace, coalesce(n.file_path, n.path) AS path, ${owner} AS owner,
  coalesce(n.tool_name, n.event_name) AS tool, coalesce(n.started_at, n.occurred_at) AS at
WHERE path IS NOT NULL AND ($contains IS NULL OR path CONTAINS $contains)
WITH workspace, path, count(*) AS touches, collect(DISTINCT tool) AS tools, count(DISTINCT owner) AS sessions,
  min(at) AS first_at, max(at) AS last_at
RETURN workspace, path, touches, tools, sessions, first_at, last_at
ORDER BY touches DESC, ${upwards('workspace', 'path')} LIMIT $limit`,
  finish: (row) => {
    const tools = (row['tools'] as readonly string[]).toSorted(byBytes);
    return { ...row, tools: tools.length === 0 ? null : tools.join() };
  },
};

const isError = ["':error'", "':failed'"]
  .map((end) => `toLower(n.event_name) ENDS WITH ${end}`)
  .join(' OR ');

const errors: ServerQuery = {
  text: (ofSession) => `CALL () {
  MATCH (n:${nodeLabel}&ToolCall) WHERE ${inWorkspaces} AND ${ofSession} AND n.result_success = false
  RETURN n, coalesce(n.ended_at, n.started_at) AS at, 'tool' AS kind, n.tool_name AS name
  UNION ALL
  MATCH (n:${nodeLabel}&OrchestratorRun)
  WHERE ${inWorkspaces} AND ${ofSession} AND n.status IN ['error', 'failed', 'failure']
  RETURN n, n.ended_at AS at, 'run' AS kind, n.status AS name
  UNION ALL
  MATCH (n:${nodeLabel}&Event) WHERE ${inWorkspaces} AND ${ofSession} AND (${isError})
    AND any(l IN labels(n) WHERE l ENDS WITH 'ErrorEvent' OR l ENDS WITH 'FailedEvent')
    AND NOT (n.event_name = 'tool:error' AND n.tool_call_id IS NOT NULL)
  RETURN n, n.occurred_at AS at, 'event' AS kind, n.event_name AS name
}
WITH n, at, kind, name WHERE $since IS NULL OR at >= datetime($since)
WITH n, at, kind, name, ${owner} AS owner
ORDER BY ${downwards('at')}, ${upwards('n.workspace', 'owner', 'n.node_id')} LIMIT $limit
OPTIONAL MATCH (s:${nodeLabel} {workspace: n.workspace, node_id: owner})
RETURN n.workspace AS workspace, coalesce(s.session_id, owner) AS session, at, kind, name,
  CASE kind WHEN 'tool' THEN n.result_error WHEN 'run' THEN n.response END AS message,
  CASE kind WHEN 'event' THEN n.data END AS data, n.node_id AS id
ORDER BY ${downwards('at')}, ${upwards('workspace', 'session', 'id')}`,
  finish: (row) => ({ ...row, message: row['message'] ?? saidIn(row['data']) }),
};

const timeline: ServerQuery = {
  text: () => `MATCH (s:${nodeLabel} {node_id: $session_node})-[:HAS_EVENT]->(n:${nodeLabel})
WHERE ${inWorkspaces} AND ($event IS NULL OR n.event_name = $event)
  AND ($since IS NULL OR n.occurred_at >= datetime($since))
  AND ($until IS NULL OR n.occurred_at < datetime($until))
WITH n ORDER BY ${upwards('n.workspace', 'n.occurred_at', momentOrder('n.event_name'), 'n.node_id')} LIMIT $limit
RETURN n.workspace AS workspace, n.occurred_at AS at, n.event_name AS event, n.tool_name AS tool,
  left(toString(coalesce(n.prompt, n.path, n.model, n.agent, n.skill_name, n.recipe_name)), 120) AS detail,
  n.node_id AS id
ORDER BY ${upwards('workspace', 'at', momentOrder('event'), 'id')}`,
};

const tokenUsage: ServerQuery = {
  text: (ofSession) => `MATCH (n:${nodeLabel}&Iteration)
WHERE ${inWorkspaces} AND ${ofSession} AND ($model IS NULL OR n.model = $model)
WITH n.workspace AS workspace, ${owner} AS owner, n.provider AS provider, n.model AS model, count(*) AS iterations,
  ${total('n.usage_input')} AS input, ${total('n.usage_output')} AS output,
  ${total('n.usage_cache_read')} AS cache_read, ${total('n.usage_cache_write')} AS cache_write,
  CASE count(n.usage_cost_usd) WHEN 0 THEN null ELSE round(${total('n.usage_cost_usd')}, 6) END AS cost_usd
ORDER BY input + output DESC, ${upwards('workspace', 'owner', 'provider', 'model')} LIMIT $limit
OPTIONAL MATCH (s:${nodeLabel} {workspace: workspace, node_id: owner})
RETURN workspace, coalesce(s.session_id, owner) AS session, provider, model, iterations, input, output,
  cache_read, cache_write, cost_usd
ORDER BY input + output DESC, ${upwards('workspace', 'session', 'provider', 'model')}`,
};

const serverQueries: Readonly<Record<string, ServerQuery>> = {
  sessions,
  'tool-calls': toolCalls,
  'files-touched': filesTouched,
  errors,
  timeline,
  'token-usage': tokenUsage,
};

/** The same rows as the embedded store gives, in the same order (D9). */
export async function runNamedQuery(
  tx: Transaction,
  name: string,
  bindings: QueryBindings,
  limit: number,
): Promise<QueryResult> {
  const named = namedQuery(name);
  const given = { ...nullsOf(named), ...parametersOf(bindings), limit: BigInt(limit + 1) };
  const rows =
    name === 'session-tree'
      ? await sessionTreeRows(tx, given, { depth: Number(bindings['depth']), limit: limit + 1 })
      : await runServerQuery(tx, serverQueries[name], given);
  return {
    columns: named.columns,
    rows: rows.slice(0, limit).map((row) => named.columns.map((column) => row[column] ?? null)),
    hasMore: rows.length > limit,
  };
}

async function runServerQuery(
  tx: Transaction,
  query: ServerQuery | undefined,
  parameters: Readonly<Record<string, unknown>>,
): Promise<readonly Row[]> {
  if (query === undefined) throw new RangeError('a named query has no form for Neo4j');
  const ends = new EndIds();
  const isOfOne = typeof parameters['session'] === 'string';
  const text = query.text(isOfOne ? ofOneSession : ofAnySession);
  const rows = await tx.run(statement(text, parameters));
  return rows
    .map((row) => query.finish?.(row) ?? row)
    .map((row) =>
      Object.fromEntries(Object.entries(row).map(([key, value]) => [key, answerOf(value, ends)])),
    );
}

/** Each parameter must be given, those that are not used too. */
function nullsOf(query: NamedQuery): Readonly<Record<string, null>> {
  return Object.fromEntries(
    [...Object.keys(query.parameters), 'session', 'session_node'].map((name) => [name, null]),
  );
}

function parametersOf(bindings: QueryBindings): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(bindings).map(([name, value]) => {
      if (name === 'workspace' && typeof value === 'string') return [name, JSON.parse(value)];
      return [name, typeof value === 'number' ? BigInt(value) : value];
    }),
  );
}

/** What an error event says, in the text that it came with. */
function saidIn(data: unknown): unknown {
  if (typeof data !== 'string') return null;
  let json: JsonValue;
  try {
    json = JSON.parse(data) as JsonValue;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  if (!isJsonObject(json)) return null;
  const { error } = json;
  const inner = isJsonObject(error) ? error['message'] : undefined;
  const said = [inner, error, json['error_message'], json['message']].find(
    (one) => one !== undefined && one !== null,
  );
  return typeof said === 'object' ? JSON.stringify(said) : (said ?? null);
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
