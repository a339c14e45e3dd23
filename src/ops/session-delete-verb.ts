import { Type } from 'typebox';
import type { RemovedCounts } from '#keeping';
import type { KeyStatus } from '#queue';
import { sessionDeleteUnsupported } from './errors.ts';
import type { OpsContext } from './ops-context.ts';
import { findSession, statusByIds } from './session-lookup.ts';
import { type Actor, type Verb, defineVerb } from './verb.ts';

const row = Type.Object({
  key: Type.String(),
  workspace: Type.String(),
  session_id: Type.String(),
  accepted: Type.Integer(),
  dead: Type.Integer(),
  nodes: Type.Integer(),
  /** That the graph gets free, about. */
  bytes: Type.Integer(),
  objects: Type.Integer(),
  /** Code of what stands against it: records that wait, or a quarantine. */
  refused: Type.Union([Type.String(), Type.Null()]),
});

export const sessionsDeleteVerb: Verb = defineVerb({
  name: 'sessions delete',
  summary:
    'take a session out of graph, logs, dead letters, objects and ids for good; refused while a record of it waits',
  effect: 'destroy',
  scope: 'ops:write',
  input: Type.Object(
    {
      session: Type.String({ minLength: 1 }),
      workspace: Type.Optional(Type.String({ minLength: 1 })),
      with_sub_sessions: Type.Optional(Type.Boolean()),
      dry_run: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    dry_run: Type.Boolean(),
    count: Type.Integer(),
    sessions: Type.Array(row),
    removed: Type.Union([
      Type.Object({ nodes: Type.Integer(), edges: Type.Integer(), objects: Type.Integer() }),
      Type.Null(),
    ]),
  }),
  countOf: ({ dry_run, count }) => (dry_run ? 0 : count),
  http: { method: 'DELETE', path: '/v1/sessions/{session}' },
  async run(context, input, caller) {
    const { removal } = context;
    if (removal === undefined) throw sessionDeleteUnsupported({});
    const found = await sessionsOf(context, input, caller);
    const sessions = [];
    for (const status of found) sessions.push(await rowOf(context, status));
    const isDryRun = input.dry_run === true;
    const removed: RemovedCounts | null = isDryRun
      ? null
      : await removal.remove(
          found.map(({ key, workspace, session }) => ({ key, workspace, session })),
        );
    return {
      dry_run: isDryRun,
      count: sessions.length,
      sessions,
      removed: removed === null ? null : { ...removed },
    };
  },
});

/** The session, and where it is asked for those below it that have a log. */
async function sessionsOf(
  context: OpsContext,
  input: {
    readonly session: string;
    readonly workspace?: string;
    readonly with_sub_sessions?: boolean;
  },
  caller: Actor,
): Promise<readonly KeyStatus[]> {
  const first = await findSession(context, input.session, input.workspace, caller);
  if (input.with_sub_sessions !== true) return [first];
  const { workspace, session } = first;
  const found = [first];
  for (const name of (await context.removal?.descendants({ workspace, session })) ?? []) {
    const status = await statusByIds(context, workspace, name);
    if (status !== undefined) found.push(status);
  }
  return found;
}

async function rowOf(context: OpsContext, status: KeyStatus) {
  const { key, workspace, session, accepted, dead, pending, quarantine } = status;
  const traces = await context.removal?.survey({ workspace, session });
  const { nodes = 0, bytes = 0, objects = 0 } = traces ?? {};
  const refused =
    quarantine !== null ? 'SESSION_QUARANTINED' : pending > 0 ? 'SESSION_PENDING' : null;
  return { key, workspace, session_id: session, accepted, dead, nodes, bytes, objects, refused };
}
