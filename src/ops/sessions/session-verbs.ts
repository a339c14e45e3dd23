import { Type } from 'typebox';
import type { KeyStatus } from '#queue';
import type { Key, Position } from '#record';
import { waitTimedOut } from '../errors.ts';
import type { OpsContext } from '../ops-context.ts';
import { findSession } from './session-lookup.ts';
import { pageByKey, pageByNews, sessionStates, type SessionNews } from './session-pages.ts';
import { type Verb, defineVerb } from '../verb.ts';

const nullableText = Type.Union([Type.String(), Type.Null()]);

const sessionRow = Type.Object({
  key: Type.String(),
  workspace: Type.String(),
  session_id: Type.String(),
  owner: nullableText,
  epoch: Type.String(),
  ordinal: Type.Integer(),
  finalised: Type.Boolean(),
  committed: Type.String(),
  end: Type.String(),
  accepted: Type.Integer(),
  applied: Type.Integer(),
  pending: Type.Integer(),
  dead: Type.Integer(),
  discarded: Type.Integer(),
  duplicates: Type.Integer(),
  residual: Type.Integer(),
  backlog_bytes: Type.Integer(),
  worker: nullableText,
  attempts: Type.Integer(),
  error: Type.Union([Type.Object({ code: Type.String(), message: Type.String() }), Type.Null()]),
  quarantine: Type.Union([
    Type.Object({ code: Type.String(), message: Type.String(), since: Type.String() }),
    Type.Null(),
  ]),
});

function rowOf(context: OpsContext, status: KeyStatus) {
  const worker = context.drain.worker(status.key);
  return {
    key: status.key as string,
    workspace: status.workspace,
    session_id: status.session,
    owner: status.owner,
    epoch: status.epoch,
    ordinal: status.ordinal,
    finalised: status.isFinalised,
    committed: status.committed as string,
    end: status.end as string,
    accepted: status.accepted,
    applied: status.applied,
    pending: status.pending,
    dead: status.dead,
    discarded: status.discarded,
    duplicates: status.duplicates,
    residual: status.accepted - status.applied - status.pending - status.dead - status.discarded,
    backlog_bytes: status.backlogBytes,
    worker: worker?.state ?? null,
    attempts: worker?.attempts ?? 0,
    error: worker?.error ?? null,
    quarantine: status.quarantine,
  };
}

const newsShape = Type.Object({
  kind: nullableText,
  status: nullableText,
  agent: nullableText,
  parent: nullableText,
  started_at: nullableText,
  last_updated: nullableText,
  ended_at: nullableText,
});

function newsOf({ kind, status, agent, parent, ...times }: SessionNews) {
  const { started_at, last_updated, ended_at } = times;
  return { kind, status, agent, parent, started_at, last_updated, ended_at };
}

export const sessionsListVerb: Verb = defineVerb({
  name: 'sessions list',
  summary: 'sessions with their counts, in key order or last changed first',
  effect: 'read',
  scope: 'ingest:read',
  input: Type.Object(
    {
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
      page_token: Type.Optional(Type.String({ maxLength: 1024 })),
      state: Type.Optional(Type.Union(sessionStates.map((state) => Type.Literal(state)))),
      workspace: Type.Optional(Type.String()),
      session: Type.Optional(Type.String()),
      /** Text that session id or workspace contain. */
      search: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
      order: Type.Optional(Type.Union([Type.Literal('key'), Type.Literal('recent')])),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    sessions: Type.Array(
      Type.Intersect([sessionRow, Type.Object({ graph: Type.Optional(newsShape) })]),
    ),
    next_page_token: Type.Optional(Type.String()),
  }),
  http: { method: 'GET', path: '/v1/sessions' },
  async run(context, input, caller) {
    const { limit = 100, page_token: pageToken, state, workspace, session, search } = input;
    const wanted = { limit, pageToken, state, workspace, session, search };
    const page = input.order === 'recent' ? pageByNews : pageByKey;
    const { sessions, nextToken } = await page(context, wanted, caller);
    return {
      sessions: sessions.map(({ status, news }) => ({
        ...rowOf(context, status),
        ...(news === undefined ? {} : { graph: newsOf(news) }),
      })),
      ...(nextToken === undefined ? {} : { next_page_token: nextToken }),
    };
  },
});

const waitMsDefault = 30_000;

async function waitApplied(
  context: OpsContext,
  key: Key,
  position: Position,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const deadline = new AbortController();
  const failure = waitTimedOut({
    until: 'applied',
    timeoutMs,
    pending: context.ledger.totals().pending,
  });
  const timer = context.clock.after(timeoutMs, () => deadline.abort(failure));
  try {
    await context.drain.waitApplied(key, position, AbortSignal.any([deadline.signal, signal]));
  } finally {
    timer.cancel();
  }
}

export const sessionsShowVerb: Verb = defineVerb({
  name: 'sessions show',
  summary: 'one session: positions, backlog, worker, quarantine; waits for a position when asked',
  effect: 'read',
  scope: 'ingest:read',
  input: Type.Object(
    {
      session: Type.String({ minLength: 1 }),
      workspace: Type.Optional(Type.String()),
      wait: Type.Optional(Type.Literal('applied')),
      position: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
      timeout: Type.Optional(Type.Integer({ minimum: 1, maximum: 600_000 })),
    },
    { additionalProperties: false },
  ),
  output: sessionRow,
  http: { method: 'GET', path: '/v1/sessions/{session}' },
  async run(context, input, caller) {
    const status = await findSession(context, input.session, input.workspace, caller);
    if (input.wait !== 'applied') return rowOf(context, status);
    const asked = (input.position ?? status.end) as Position;
    await waitApplied(context, status.key, asked, input.timeout ?? waitMsDefault, caller.signal);
    return rowOf(context, await findSession(context, input.session, status.workspace, caller));
  },
});
