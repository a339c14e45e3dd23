import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemChance, systemClock } from '#base';
import { openEmbeddedGraph } from '#graph/embedded';
import { openNeo4jGraph } from '#graph/neo4j';
import type { GraphStore, Mutation } from '#graph';
import { edge, node, part, permit, time } from '../test/contract/graph/harness.ts';
import { cannotFetchNeo4j, startNeo4j } from '../test/services/neo4j-server.ts';
import { spillBytes } from '../test/support/graph-fixtures.ts';
import { median, rounded, type Question } from './question.ts';

const callsPerSession = 999;
const tools = 500;

const asked: Readonly<Record<string, string>> = {
  nodeById: 'MATCH (n {node_id: $call}) RETURN n.tool_name',
  sessionById: 'MATCH (s:Session {session_id: $session}) RETURN s.status',
  callsOfSession:
    'MATCH (s:Session {session_id: $session})-[:HAS_TOOL_CALL]->(t) RETURN t.tool_name AS tool, count(*) AS n ORDER BY n DESC, tool LIMIT 10',
  callsOfTool: 'MATCH (t:ToolCall {tool_name: $tool}) RETURN count(t)',
  sessionsOfTool:
    'MATCH (t:ToolCall {tool_name: $tool})<-[:HAS_TOOL_CALL]-(s) RETURN count(DISTINCT s.session_id)',
  countAll: 'MATCH (t:ToolCall) RETURN count(t)',
};

const limits = { rows: 1_000, bytes: 2 ** 24, timeMs: 300_000 };

/** Sessions with a thousand nodes each, one tool in `tools` for each call. */
async function fill(store: GraphStore, sessions: number): Promise<void> {
  for (let at = 0; at < sessions; at += 1) {
    const session = `s${at}`;
    const mutations: Mutation[] = [
      node(session, session, ['Session'], { session_id: session, status: 'completed' }),
    ];
    for (let call = 0; call < callsPerSession; call += 1) {
      const id = `${session}::tool::${call}`;
      const tool = `tool-${(at * callsPerSession + call) % tools}`;
      const properties = {
        tool_name: tool,
        started_at: { $time: time(call % 60) },
        input: 'x'.repeat(200),
      };
      mutations.push(node(session, id, ['ToolCall', 'SST_EVENT'], properties));
      mutations.push(edge(session, 'HAS_TOOL_CALL', id));
    }
    await store.apply(permit, [part(session, [mutations])]);
  }
}

async function measure(
  store: GraphStore,
  sessions: number,
  rounds: number,
): Promise<Readonly<Record<string, number>>> {
  await fill(store, sessions);
  const session = `s${Math.floor(sessions / 2)}`;
  const parameters = { session, call: `${session}::tool::500`, tool: 'tool-77' };
  const figures: Record<string, number> = {};
  for (const [name, text] of Object.entries(asked)) {
    const times: number[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const began = systemClock.monotonic();
      await store.cypher(
        { text, parameters, workspaces: undefined, limits },
        new AbortController().signal,
      );
      // The first one compiles, and fills caches.
      if (round > 0) times.push(systemClock.monotonic() - began);
    }
    figures[name] = rounded(median(times));
  }
  return figures;
}

function named(
  store: string,
  figures: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(figures).map(([name, ms]) => [`${store}_${name}_ms`, ms]),
  );
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
  asks: 'Milliseconds of Cypher questions on a graph of a million nodes (20,000 in a smoke run), in both stores',
  async run({ isSmoke, rounds }) {
    const sessions = isSmoke ? 20 : 1_000;
    return {
      figures: {
        nodes: sessions * (callsPerSession + 1),
        ...named('embedded', await onEmbedded(sessions, rounds + 2)),
        ...named('neo4j', await onNeo4j(sessions, rounds + 2)),
      },
    };
  },
};
