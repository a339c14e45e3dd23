import { Type, type TUnsafe } from 'typebox';
import type { JobItem } from '#control';
import { jobUnknown, type JobView } from '#dead-letters';
import { parseKey, type Key } from '#record';
import { newestFirst, newestPage, tokenBehind } from '../newest-first.ts';
import type { OpsContext } from '../ops-context.ts';
import { type Caller, type Verb, defineVerb } from '../verb.ts';

/** A long act as it is shown. */
export interface JobRowJson {
  id: string;
  kind: string;
  principal: string;
  state: string;
  /** Letters that were selected, and those of them that have a result. */
  total: number;
  done: number;
  /** Letters per result: requeued, discarded, already, refused. */
  counts: Record<string, number>;
  selection: Record<string, unknown>;
  per_second: number | null;
  reason: string | null;
  made_at: string;
  ended_at: string | null;
  /** Why it stands still though it runs. */
  waiting_for: { code: string; message: string } | null;
}

export const jobRow: TUnsafe<JobRowJson> = Type.Unsafe<JobRowJson>(
  Type.Object({
    id: Type.String(),
    kind: Type.String(),
    principal: Type.String(),
    state: Type.String(),
    total: Type.Integer(),
    done: Type.Integer(),
    counts: Type.Record(Type.String(), Type.Integer()),
    selection: Type.Record(Type.String(), Type.Unknown()),
    per_second: Type.Union([Type.Integer(), Type.Null()]),
    reason: Type.Union([Type.String(), Type.Null()]),
    made_at: Type.String(),
    ended_at: Type.Union([Type.String(), Type.Null()]),
    waiting_for: Type.Union([
      Type.Object({ code: Type.String(), message: Type.String() }),
      Type.Null(),
    ]),
  }),
);

export function jobRowOf(job: JobView): JobRowJson {
  const settings = JSON.parse(job.settings) as { perSecond?: number; reason?: string };
  const { id, kind, principal, state, total, counts, waitingFor } = job;
  return {
    id,
    kind,
    principal,
    state,
    total,
    done: Object.values(counts).reduce((sum, count) => sum + count, 0),
    counts: { ...counts },
    selection: JSON.parse(job.selection) as Record<string, unknown>,
    per_second: settings.perSecond ?? null,
    reason: settings.reason ?? null,
    made_at: job.madeAt,
    ended_at: job.endedAt,
    waiting_for: waitingFor === null ? null : { ...waitingFor },
  };
}

/** A job over letters of workspaces that the caller may not use is none of theirs. */
function isVisible(caller: Caller, { workspaces }: JobView): boolean {
  if (caller.workspaces === undefined) return true;
  if (workspaces === null) return false;
  const own = caller.workspaces;
  return (JSON.parse(workspaces) as string[]).every((workspace) => own.includes(workspace));
}

function findJob(context: OpsContext, id: string, caller: Caller): JobView {
  const job = context.jobs.find(id);
  if (job === undefined || !isVisible(caller, job)) throw jobUnknown({ id });
  return job;
}

const idInput = Type.Object({ id: Type.String() }, { additionalProperties: false });

export const jobsListVerb: Verb = defineVerb({
  name: 'jobs list',
  summary: 'acts on many dead letters, newest first: how far each is',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object(newestFirst, { additionalProperties: false }),
  output: Type.Object({
    jobs: Type.Array(jobRow),
    next_page_token: Type.Optional(Type.String()),
  }),
  http: { method: 'GET', path: '/v1/jobs' },
  run(context, input, caller) {
    const page = newestPage(input);
    const jobs = context.jobs.list(page);
    const shown = jobs.filter((job) => job.state !== 'selecting' && isVisible(caller, job));
    return Promise.resolve({
      jobs: shown.map(jobRowOf),
      ...tokenBehind(jobs, page, ({ seq }) => seq),
    });
  },
});

export const jobsShowVerb: Verb = defineVerb({
  name: 'jobs show',
  summary: 'one job: what was selected, how far it is, what it waits for',
  effect: 'read',
  scope: 'ops:read',
  input: idInput,
  output: jobRow,
  http: { method: 'GET', path: '/v1/jobs/{id}' },
  run: (context, { id }, caller) => Promise.resolve(jobRowOf(findJob(context, id, caller))),
});

const itemRow = Type.Object({
  letter: Type.String(),
  /** Null while it waits. */
  result: Type.Union([Type.String(), Type.Null()]),
  code: Type.Union([Type.String(), Type.Null()]),
  message: Type.Union([Type.String(), Type.Null()]),
  at: Type.Union([Type.String(), Type.Null()]),
  position: Type.Union([Type.String(), Type.Null()]),
  /** What became of the new record since; null where there is none. */
  now: Type.Union([
    Type.Literal('pending'),
    Type.Literal('applied'),
    Type.Literal('dead'),
    Type.Null(),
  ]),
});

export const jobsResultsVerb: Verb = defineVerb({
  name: 'jobs results',
  summary: 'what became of each letter of a job',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object(
    {
      id: Type.String(),
      result: Type.Optional(Type.String({ maxLength: 20 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
      page_token: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$' })),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    results: Type.Array(itemRow),
    next_page_token: Type.Optional(Type.String()),
  }),
  http: { method: 'GET', path: '/v1/jobs/{id}/results' },
  async run(context, { id, result, limit = 100, page_token: token }, caller) {
    findJob(context, id, caller);
    const items = context.jobs.items(id, {
      limit,
      ...(token === undefined ? {} : { after: Number(token) }),
      ...(result === undefined ? {} : { result }),
    });
    const last = items.length < limit ? undefined : items.at(-1);
    const since = await sinceThen(context, items);
    return {
      results: items.map((item) => {
        const { code, message, position } = detailOf(item);
        return {
          letter: item.subject,
          result: item.result,
          code: code ?? null,
          message: message ?? null,
          at: item.at,
          position: position ?? null,
          now: position === undefined ? null : (since.get(position) ?? null),
        };
      }),
      ...(last === undefined ? {} : { next_page_token: String(last.item) }),
    };
  },
});

interface ItemDetail {
  readonly code?: string;
  readonly message?: string;
  readonly position?: string;
}

function detailOf({ detail }: JobItem): ItemDetail {
  return detail === null ? {} : (JSON.parse(detail) as ItemDetail);
}

/** Each key is looked at once: where its commits are, and which records have died again. */
async function sinceThen(
  context: OpsContext,
  items: readonly JobItem[],
): Promise<ReadonlyMap<string, 'pending' | 'applied' | 'dead'>> {
  const positions = new Map<Key, string[]>();
  for (const item of items) {
    const { position } = detailOf(item);
    const key = parseKey(item.subject.slice(0, item.subject.indexOf(':')));
    if (position === undefined || key === undefined) continue;
    positions.set(key, [...(positions.get(key) ?? []), position]);
  }
  const now = new Map<string, 'pending' | 'applied' | 'dead'>();
  for (const [key, own] of positions) {
    const status = await context.ledger.keyStatus(key);
    const dead = new Set<string>();
    for await (const { at } of context.deadLetters.each({ key, withRetired: true })) dead.add(at);
    for (const position of own) {
      const isPassed = status !== undefined && position < status.committed;
      now.set(position, dead.has(position) ? 'dead' : isPassed ? 'applied' : 'pending');
    }
  }
  return now;
}

/** Three acts on a job that differ in a word. */
function defineJobAct(act: 'cancel' | 'pause' | 'resume', summary: string): Verb {
  return defineVerb({
    name: `jobs ${act}`,
    summary,
    effect: 'write',
    scope: 'ops:write',
    input: idInput,
    output: jobRow,
    http: { method: 'POST', path: `/v1/jobs/{id}/${act}` },
    run(context, { id }, caller) {
      findJob(context, id, caller);
      return Promise.resolve(jobRowOf(context.jobs[act](id)));
    },
  });
}

export const jobsCancelVerb: Verb = defineJobAct(
  'cancel',
  'end a job: what is done stays done, the rest is left as it is',
);
export const jobsPauseVerb: Verb = defineJobAct(
  'pause',
  'let a job stand still, also over a restart',
);
export const jobsResumeVerb: Verb = defineJobAct('resume', 'let a paused job go on');
