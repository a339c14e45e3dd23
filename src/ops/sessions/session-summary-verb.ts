import { Type } from 'typebox';
import { sessionNodeId } from '#record';
import { blobsOf } from './blobs.ts';
import { findSession, statusByIds } from './session-lookup.ts';
import { type Caller, type Verb, defineVerb } from '../verb.ts';
import type { OpsContext } from '../ops-context.ts';

/** Sessions below one, deeper than which nobody delegates, and as many as an answer names. */
const depthMax = 15;
const sessionsMax = 1000;
const limits = { rows: sessionsMax, bytes: 16 * 2 ** 20, timeMs: 30_000 };

const nullableText = Type.Union([Type.String(), Type.Null()]);

/** As the predecessor's readers know it (D16): a session with all below it, and whether all of it could be taken away now. */
export const sessionSummaryVerb: Verb = defineVerb({
  name: 'sessions summary',
  summary: 'a session with all sessions below it: how large it is, and what is still pending',
  effect: 'read',
  scope: 'ingest:read',
  input: Type.Object(
    { session: Type.String({ minLength: 1 }), workspace: Type.Optional(Type.String()) },
    { additionalProperties: false },
  ),
  output: Type.Object({
    root_id: Type.String(),
    session_ids: Type.Array(Type.String()),
    subsession_count: Type.Integer(),
    workspace: Type.String(),
    working_dir: nullableText,
    created_by: nullableText,
    started_at: nullableText,
    last_change: nullableText,
    node_count: Type.Integer(),
    edge_count: Type.Integer(),
    blob_count: Type.Integer(),
    blob_bytes: Type.Integer(),
    deletable: Type.Boolean(),
    pending_sessions: Type.Array(Type.String()),
  }),
  http: {
    method: 'GET',
    path: '/v1/sessions/{session}/summary',
    aliases: [{ method: 'GET', path: '/sessions/{session}/summary' }],
  },
  async run(context, input, caller) {
    const top = await findSession(context, input.session, input.workspace, caller);
    const { workspace, session } = top;
    const ask = asker(context, workspace, caller);
    const [head = []] = await ask(
      `MATCH (s:Session {node_id: $id})
       RETURN toString(s.started_at), toString(s.last_updated), s.working_dir`,
      sessionNodeId(session),
    );
    const below = await ask(
      `MATCH (s:Session {node_id: $id})-[:HAS_SUBSESSION|FORKED*1..${depthMax}]->(c:Session)
       RETURN DISTINCT c.session_id AS session ORDER BY session`,
      sessionNodeId(session),
    );
    const sessionIds = [session, ...below.map(([one]) => String(one))];
    const size = { nodes: 0, edges: 0, blobs: 0, bytes: 0 };
    const pending: string[] = [];
    for (const one of sessionIds) {
      const [[nodes = 0, edges = 0] = []] = await ask(sizeQuery, sessionNodeId(one));
      size.nodes += nodes as number;
      size.edges += edges as number;
      for (const blob of await blobsOf(context, { workspace, session: one }, caller.signal)) {
        size.blobs += 1;
        size.bytes += blob.bytes;
      }
      if (await isPending(context, workspace, one)) pending.push(one);
    }
    return {
      root_id: session,
      session_ids: sessionIds,
      subsession_count: below.length,
      workspace,
      working_dir: textOf(head[2]),
      created_by: top.owner,
      started_at: textOf(head[0]),
      last_change: textOf(head[1]),
      node_count: size.nodes,
      edge_count: size.edges,
      blob_count: size.blobs,
      blob_bytes: size.bytes,
      deletable: pending.length === 0,
      pending_sessions: pending,
    };
  },
});

/** The session's own node, its events, what was built from them, and the edges that begin at one of these. */
const sizeQuery = `
  MATCH (s:Session {node_id: $id})
  CALL { WITH s MATCH (s)-[:HAS_EVENT]->(e) RETURN e AS n
         UNION
         WITH s MATCH (s)-[:HAS_EVENT]->()<-[:SOURCED_FROM]-(b) RETURN b AS n
         UNION
         WITH s RETURN s AS n }
  WITH n, COUNT { (n)-->() } AS edges
  RETURN count(n), sum(edges)`;

function asker(context: OpsContext, workspace: string, { signal }: Caller) {
  return async (text: string, id: string): Promise<readonly (readonly unknown[])[]> => {
    const query = { text, parameters: { id }, workspaces: [workspace], limits };
    return (await context.graph.cypher(query, signal)).rows;
  };
}

/** A stub below has no records, so none that are pending. */
async function isPending(
  context: OpsContext,
  workspace: string,
  session: string,
): Promise<boolean> {
  const status = await statusByIds(context, workspace, session);
  return status !== undefined && status.pending > 0;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
