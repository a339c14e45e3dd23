import { Type } from 'typebox';
import { isMillraceError } from '#base';
import type { QuietSession } from '#graph';
import { forbidden } from '#access';
import type { KeyStatus } from '#queue';
import { checkConfirmed, confirmOf } from '../letters/confirm-shown.ts';
import { sessionDeleteUnsupported } from '../errors.ts';
import type { OpsContext } from '../ops-context.ts';
import { maySee, statusByIds } from './session-lookup.ts';
import { type Caller, type Verb, defineVerb } from '../verb.ts';

/** Below this a running agent could be taken for an old session. */
const olderThanMsMin = 60_000;
const limitDefault = 100;
const limitMax = 1000;

const prunedRow = Type.Object({
  workspace: Type.String(),
  session_id: Type.String(),
  last_event_at: Type.String(),
  accepted: Type.Integer(),
  dead: Type.Integer(),
});

export const sessionsPruneVerb: Verb = defineVerb({
  name: 'sessions prune',
  summary:
    'delete the sessions whose last event is older than a time, oldest first; a dry run unless it is said otherwise',
  effect: 'destroy',
  scope: 'ops:write',
  input: Type.Object(
    {
      older_than_ms: Type.Integer({ minimum: olderThanMsMin }),
      workspace: Type.Optional(Type.String({ minLength: 1 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limitMax })),
      dry_run: Type.Optional(Type.Boolean()),
      /** That of the dry run: nothing else than what it has shown goes. */
      confirm: Type.Optional(Type.String({ maxLength: 1024 })),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    dry_run: Type.Boolean(),
    before: Type.String(),
    count: Type.Integer(),
    /** Stands for what is shown. */
    confirm: Type.String(),
    sessions: Type.Array(prunedRow),
    /** Left as they are, and why. */
    skipped: Type.Array(
      Type.Object({ workspace: Type.String(), session_id: Type.String(), code: Type.String() }),
    ),
    /** There are more than the limit. */
    has_more: Type.Boolean(),
  }),
  countOf: ({ dry_run, count }) => (dry_run ? 0 : count),
  http: { method: 'POST', path: '/v1/sessions/prune' },
  async run(context, input, caller) {
    const { removal, clock } = context;
    if (removal === undefined) throw sessionDeleteUnsupported({});
    const { limit = limitDefault } = input;
    const before = new Date(clock.now() - input.older_than_ms).toISOString();
    const workspaces = workspacesOf(input.workspace, caller);
    const found = await removal.quiet({ before, limit: limit + 1, workspaces });
    const isDryRun = input.dry_run !== false;
    const { going, skipped } = await lookAt(context, found.slice(0, limit));
    const confirm = confirmOf(going.map(({ status }) => status.key));
    if (!isDryRun)
      checkConfirmed(
        input.confirm,
        going.map(({ status }) => status.key),
      );
    const sessions = [];
    for (const { one, status } of going) {
      const code = isDryRun ? undefined : await prune(context, status);
      if (code === undefined) sessions.push(rowOf(one, status));
      else skipped.push(skippedRow(one, code));
    }
    const has_more = found.length > limit;
    const count = sessions.length;
    return { dry_run: isDryRun, before, count, confirm, sessions, skipped, has_more };
  },
});

function workspacesOf(
  workspace: string | undefined,
  caller: Caller,
): readonly string[] | undefined {
  if (workspace === undefined) return caller.workspaces;
  if (!maySee(caller, workspace))
    throw forbidden({ reason: `this token may not use the workspace ${workspace}` });
  return [workspace];
}

interface Going {
  readonly one: QuietSession;
  readonly status: KeyStatus;
}

async function lookAt(
  context: OpsContext,
  found: readonly QuietSession[],
): Promise<{ readonly going: readonly Going[]; readonly skipped: SkippedRow[] }> {
  const going: Going[] = [];
  const skipped: SkippedRow[] = [];
  for (const one of found) {
    const status = await statusByIds(context, one.workspace, one.session);
    const code = refusalOf(status);
    if (status === undefined || code !== undefined)
      skipped.push(skippedRow(one, code ?? 'SESSION_UNKNOWN'));
    else going.push({ one, status });
  }
  return { going, skipped };
}

/** Code of what stands against it. Pure. */
function refusalOf(status: KeyStatus | undefined): string | undefined {
  if (status === undefined) return 'SESSION_UNKNOWN';
  if (status.quarantine !== null) return 'SESSION_QUARANTINED';
  return status.pending > 0 ? 'SESSION_PENDING' : undefined;
}

/** Undefined once it is gone; else the code of what stands against it: the others go on. */
async function prune(
  { removal }: OpsContext,
  { key, workspace, session }: KeyStatus,
): Promise<string | undefined> {
  try {
    await removal?.remove([{ key, workspace, session }]);
    return undefined;
  } catch (error) {
    // One that was posted to a moment ago is old no more.
    if (isMillraceError(error) && error.code === 'SESSION_PENDING') return error.code;
    throw error;
  }
}

interface SkippedRow {
  workspace: string;
  session_id: string;
  code: string;
}

function skippedRow({ workspace, session }: QuietSession, code: string): SkippedRow {
  return { workspace, session_id: session, code };
}

function rowOf({ workspace, session, lastAt }: QuietSession, { accepted, dead }: KeyStatus) {
  return { workspace, session_id: session, last_event_at: lastAt, accepted, dead };
}
