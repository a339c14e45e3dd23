import { Type } from 'typebox';
import type { RemovedCounts } from '#keeping';
import type { KeyStatus } from '#queue';
import type { AuditRow } from '#control';
import { checkConfirmed, confirmOf } from '../letters/confirm-shown.ts';
import { sessionDeleteUnsupported, sessionUnknown } from '../errors.ts';
import type { OpsContext } from '../ops-context.ts';
import { findSession, statusByIds } from './session-lookup.ts';
import { type Actor, type Verb, defineVerb } from '../verb.ts';

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
      /** That of the dry run: nothing else than what it has shown goes. */
      confirm: Type.Optional(Type.String({ maxLength: 1024 })),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    dry_run: Type.Boolean(),
    count: Type.Integer(),
    /** Stands for what is shown. */
    confirm: Type.String(),
    /** It is gone already, by an act that was done or cut off at this time: nothing was left to do. */
    deleted_before: Type.Union([Type.String(), Type.Null()]),
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
    const found = await sessionsOrGone(context, input, caller);
    if ('goneAt' in found) return gone(found.goneAt);
    const names = found.map(({ key }) => key);
    const isDryRun = input.dry_run === true;
    if (!isDryRun) checkConfirmed(input.confirm, names);
    const sessions = [];
    for (const status of found) sessions.push(await rowOf(context, status));
    const removed: RemovedCounts | null = isDryRun
      ? null
      : await removal.remove(
          found.map(({ key, workspace, session }) => ({ key, workspace, session })),
        );
    return {
      dry_run: isDryRun,
      count: sessions.length,
      confirm: confirmOf(names),
      deleted_before: null,
      sessions,
      removed: removed === null ? null : { ...removed },
    };
  },
});

function gone(goneAt: string) {
  const nothing = { count: 0, confirm: confirmOf([]), sessions: [], removed: null };
  return { dry_run: false, ...nothing, deleted_before: goneAt };
}

interface Asked {
  readonly session: string;
  readonly workspace?: string;
  readonly with_sub_sessions?: boolean;
  readonly dry_run?: boolean;
}

/**
 * Who asks for a deletion again, because a crash took the answer, is told that it has come to its end, and not that there never was such a session. One
 * that is still on its way is waited for.
 */
async function sessionsOrGone(
  context: OpsContext,
  input: Asked,
  caller: Actor,
): Promise<readonly KeyStatus[] | { readonly goneAt: string }> {
  try {
    return await sessionsOf(context, input, caller);
  } catch (error) {
    if (!sessionUnknown.is(error) || input.dry_run === true) throw error;
    const act = { verb: 'sessions delete', member: 'session', value: input.session };
    const before = context.operations.last(act);
    if (before === undefined || !isTheirs(before, input, caller)) throw error;
    await context.removal?.settled();
    return { goneAt: before.beganAt };
  }
}

/** Somebody else's deletion in another workspace says nothing, and is nobody's business. */
function isTheirs(
  { input: text, principal }: AuditRow,
  { workspace }: Asked,
  caller: Actor,
): boolean {
  const named = (JSON.parse(text) as { readonly workspace?: string }).workspace;
  if (workspace !== undefined && named !== undefined && named !== workspace) return false;
  return principal === caller.principal || caller.workspaces === undefined;
}

/** The session, and where it is asked for those below it that have a log. */
async function sessionsOf(
  context: OpsContext,
  input: Asked,
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
