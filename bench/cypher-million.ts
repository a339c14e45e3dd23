import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MillraceError, systemChance, systemClock } from '#base';
import { openEmbeddedGraph } from '#graph/embedded';
import { openNeo4jGraph } from '#graph/neo4j';
import type { GraphStore, Mutation } from '#graph';
import { edge, node, part, permit, time } from '../test/contract/graph/harness.ts';
import { cannotFetchNeo4j, startNeo4j } from '../test/services/neo4j-server.ts';
import { spillBytes } from '../test/support/graph-fixtures.ts';
import { median, rounded, type Question } from './question.ts';

/** Of each session, beside itself. */
const callsPerSession = 499;
const eventsPerSession = 500;
const nodesPerSession = 1 + callsPerSession + eventsPerSession;
const tools = 500;

/** What people ask: of one session or tool, and of all of them. */
export const asked: Readonly<Record<string, string>> = {
  nodeById: 'MATCH (n {node_id: $call}) RETURN n.tool_name',
  sessionById: 'MATCH (s:Session {session_id: $session}) RETURN s.status',
  callsOfSession:
    'MATCH (s:Session {session_id: $session})-[:HAS_TOOL_CALL]->(t) RETURN t.tool_name AS tool, count(*) AS n ORDER BY n DESC, tool LIMIT 10',
  failuresOfSession:
    'MATCH (s:Session {session_id: $session})-[:HAS_TOOL_CALL]->(t:ToolCall) WHERE t.result_success = false RETURN t.node_id ORDER BY t.node_id',
  callsOfTool: 'MATCH (t:ToolCall {tool_name: $tool}) RETURN count(t)',
  sessionsOfTool:
    'MATCH (t:ToolCall {tool_name: $tool})<-[:HAS_TOOL_CALL]-(s) RETURN count(DISTINCT s.session_id)',
  countLabel: 'MATCH (t:ToolCall) RETURN count(t)',
  countAll: 'MATCH (n) RETURN count(*)',
  countEdges: 'MATCH ()-[r:HAS_TOOL_CALL]->() RETURN count(r)',
  callsByTool:
    'MATCH (t:ToolCall) RETURN t.tool_name AS tool, count(*) AS n ORDER BY n DESC, tool LIMIT 10',
  failuresByTool:
    'MATCH (t:ToolCall) WHERE t.result_success = false RETURN t.tool_name AS tool, count(*) AS n ORDER BY n DESC, tool LIMIT 10',
  latestCalls: 'MATCH (t:ToolCall) RETURN t.node_id AS id ORDER BY t.started_at DESC, id LIMIT 10',
  textInInput: 'MATCH (t:ToolCall) WHERE t.input CONTAINS $needle RETURN count(t)',
  callsPerSession:
    'MATCH (s:Session)-[:HAS_TOOL_CALL]->(t:ToolCall) RETURN s.session_id AS session, count(t) AS n ORDER BY n DESC, session LIMIT 10',
};

/** Named queries with what they are asked for. */
const named: Readonly<
  Record<string, { name: string; parameters: Readonly<Record<string, unknown>> }>
> = {
  sessions: { name: 'sessions', parameters: {} },
  sessionTree: { name: 'session-tree', parameters: { session: '$session' } },
  timeline: { name: 'timeline', parameters: { session: '$session' } },
  toolCallsOfSession: { name: 'tool-calls', parameters: { session: '$session' } },
  toolCalls: { name: 'tool-calls', parameters: {} },
  tokenUsage: { name: 'token-usage', parameters: {} },
  errors: { name: 'errors', parameters: {} },
  filesTouched: { name: 'files-touched', parameters: {} },
};

const limits = { rows: 1_000, bytes: 2 ** 24, timeMs: 300_000 };

/** Sessions with a thousand nodes each, one tool in `tools` for each call, every tenth of them failed. */
export async function fill(store: GraphStore, sessions: number): Promise<void> {
  for (let at = 0; at < sessions; at += 1) {
    const session = `s${at}`;
    const mutations: Mutation[] = [
      node(session, session, ['Session'], {
        session_id: session,
        status: 'completed',
        last_updated: { $time: time(at % 60) },
      }),
    ];
    for (let call = 0; call < callsPerSession; call += 1) {
      const id = `${session}::tool::${call}`;
      const tool = `tool-${(at * callsPerSession + call) % tools}`;
      const properties = {
        tool_name: tool,
        result_success: call % 10 !== 0,
        started_at: { $time: time(call % 60) },
        input: 'x'.repeat(200),
      };
      mutations.push(node(session, id, ['ToolCall', 'SST_EVENT'], properties));
      mutations.push(edge(session, 'HAS_TOOL_CALL', id));
    }
    for (let event = 0; event < eventsPerSession; event += 1) {
      const id = `${session}::event::${event}`;
      const properties = { event_name: 'tool:pre', occurred_at: { $time: time(event % 60) } };
      mutations.push(node(session, id, ['Event', 'ToolPreEvent', 'SST_EVENT'], properties));
      mutations.push(edge(session, 'HAS_EVENT', id));
    }
    await store.apply(permit, [part(session, [mutations])]);
  }
}

async function measure(
  store: GraphStore,
  sessions: number,
  rounds: number,
): Promise<Readonly<Record<string, number>>> {
  const began = systemClock.monotonic();
  await fill(store, sessions);
  const figures: Record<string, number> = {
    fill_s: rounded((systemClock.monotonic() - began) / 1000),
  };
  const session = `s${Math.floor(sessions / 2)}`;
  const parameters = { session, call: `${session}::tool::50`, tool: 'tool-77', needle: 'needle' };
  for (const [name, text] of Object.entries(asked))
    figures[`cypher_${name}_ms`] = await medianMs(rounds, () =>
      store.cypher(
        { text, parameters, workspaces: undefined, limits },
        new AbortController().signal,
      ),
    );
  for (const [name, query] of Object.entries(named)) {
    const given = Object.fromEntries(
      Object.entries(query.parameters).map(([key, value]) => [
        key,
        value === '$session' ? session : value,
      ]),
    );
    figures[`named_${name}_ms`] = await medianMs(rounds, () => store.query(query.name, given));
  }
  return figures;
}

/** -1 for a query that its time limit stopped. */
async function medianMs(rounds: number, ask: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const began = systemClock.monotonic();
    try {
      await ask();
    } catch (error) {
      if (error instanceof MillraceError && error.code === 'QUERY_TIMEOUT') return -1;
      throw error;
    }
    const tookMs = systemClock.monotonic() - began;
    // The first one compiles, and fills caches.
    if (round > 0) times.push(tookMs);
    // What takes seconds is not asked again and again.
    if (round > 0 && tookMs > 2_000) break;
  }
  return rounded(median(times));
}

function prefixed(
  store: string,
  figures: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(figures).map(([name, ms]) => [`${store}_${name}`, ms]));
}

const clocks = { clock: systemClock, chance: systemChance };

async function onEmbedded(sessions: number, rounds: number): Promise<Record<string, number>> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  const path = join(folder, 'graph.db');
  const store = await openEmbeddedGraph({ path, rootId: 'root', spillBytes, ...clocks });
  try {
    return { ...(await measure(store, sessions, rounds)) };
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function onNeo4j(sessions: number, rounds: number): Promise<Record<string, number>> {
  const reason = cannotFetchNeo4j();
  if (reason !== undefined) {
    process.stderr.write(`cypher-million: no Neo4j: ${reason}\n`);
    return {};
  }
  const server = await startNeo4j();
  try {
    const store = await openNeo4jGraph({ uri: server.uri, rootId: 'root', spillBytes, ...clocks });
    try {
      return { ...(await measure(store, sessions, rounds)) };
    } finally {
      await store.close();
    }
  } finally {
    await server.dispose();
  }
}

export const cypherMillion: Question = {
  name: 'cypher-million',
  asks: 'Milliseconds of Cypher questions and named queries on a graph of a million nodes (20,000 in a smoke run), in both stores; -1: stopped by its time limit of 5 s',
  async run({ isSmoke, rounds }) {
    const sessions = isSmoke ? 20 : 1_000;
    return {
      figures: {
        nodes: sessions * nodesPerSession,
        ...prefixed('embedded', await onEmbedded(sessions, rounds + 2)),
        ...prefixed('neo4j', await onNeo4j(sessions, rounds + 2)),
      },
    };
  },
};
