import { isUtf8 } from 'node:buffer';
import { Type } from 'typebox';
import { deadLetterUnknown, type Letter, type LetterFilter, type LetterPage } from '#dead-letters';
import { findSession, maySee } from './session-lookup.ts';
import { type Caller, type Verb, defineVerb } from './verb.ts';

const letterRow = Type.Object({
  id: Type.String(),
  key: Type.String(),
  workspace: Type.String(),
  session_id: Type.String(),
  event: Type.Union([Type.String(), Type.Null()]),
  event_id: Type.Union([Type.String(), Type.Null()]),
  position: Type.String(),
  epoch: Type.String(),
  ts: Type.String(),
  sha256: Type.String(),
  attempts: Type.Integer(),
  error: Type.Object({ code: Type.String(), message: Type.String() }),
  state: Type.Union([Type.Literal('live'), Type.Literal('requeued'), Type.Literal('discarded')]),
  retired: Type.Boolean(),
  bytes: Type.Integer(),
});

function rowOf(letter: Letter) {
  return {
    id: letter.id,
    key: letter.key as string,
    workspace: letter.workspace,
    session_id: letter.session,
    event: letter.event ?? null,
    event_id: letter.eventId ?? null,
    position: letter.at as string,
    epoch: letter.epoch,
    ts: letter.ts,
    sha256: letter.sha256,
    attempts: letter.attempts,
    error: { code: letter.error.code, message: letter.error.message },
    state: letter.outcome.kind,
    retired: letter.isRetired,
    bytes: letter.payload.length,
  };
}

const letterPage = Type.Object({
  dead_letters: Type.Array(letterRow),
  next_page_token: Type.Optional(Type.String()),
});

function pageOf({ letters, nextPageToken }: LetterPage) {
  return {
    dead_letters: letters.map(rowOf),
    ...(nextPageToken === undefined ? {} : { next_page_token: nextPageToken }),
  };
}

const pageMembers = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  page_token: Type.Optional(Type.String({ maxLength: 1024 })),
};

function placeOf(input: { readonly limit?: number; readonly page_token?: string }) {
  return {
    limit: input.limit ?? 100,
    ...(input.page_token === undefined ? {} : { pageToken: input.page_token }),
  };
}

const filterMembers = {
  session: Type.Optional(Type.String()),
  workspace: Type.Optional(Type.String()),
  code: Type.Optional(Type.String()),
  event: Type.Optional(Type.String()),
  since: Type.Optional(Type.String()),
};

interface FilterInput {
  readonly id?: string;
  readonly session?: string;
  readonly workspace?: string;
  readonly code?: string;
  readonly event?: string;
  readonly since?: string;
  readonly retired?: boolean;
}

function filterOf(input: FilterInput, caller: Caller): LetterFilter {
  const { id, session, workspace, code, event, since, retired } = input;
  return {
    ...(id === undefined ? {} : { id }),
    ...(session === undefined ? {} : { session }),
    ...(workspace === undefined ? {} : { workspace }),
    ...(code === undefined ? {} : { code }),
    ...(event === undefined ? {} : { event }),
    ...(since === undefined ? {} : { since }),
    ...(retired === undefined ? {} : { withRetired: retired }),
    ...(caller.workspaces === undefined ? {} : { visibleWorkspaces: caller.workspaces }),
  };
}

export const deadListVerb: Verb = defineVerb({
  name: 'dead list',
  summary: 'dead letters of all sessions, with their reasons',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object(
    {
      ...filterMembers,
      ...pageMembers,
      retired: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
  output: letterPage,
  http: { method: 'GET', path: '/v1/dead-letters' },
  async run(context, input, caller) {
    return pageOf(await context.deadLetters.list(filterOf(input, caller), placeOf(input)));
  },
});

export const deadOfSessionVerb: Verb = defineVerb({
  name: 'dead list of session',
  summary: 'live and retired dead letters of one session',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object(
    { session: Type.String(), workspace: Type.Optional(Type.String()), ...pageMembers },
    { additionalProperties: false },
  ),
  output: letterPage,
  http: { method: 'GET', path: '/v1/sessions/{session}/dead-letters' },
  async run(context, input, caller) {
    const { key } = await findSession(context, input.session, input.workspace, caller);
    return pageOf(await context.deadLetters.list({ key, withRetired: true }, placeOf(input)));
  },
});

export const deadShowVerb: Verb = defineVerb({
  name: 'dead show',
  summary: 'one dead letter; its payload for callers with ops:write',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object({ id: Type.String() }, { additionalProperties: false }),
  output: Type.Object({
    ...letterRow.properties,
    payload: Type.Optional(Type.String()),
    payload_b64: Type.Optional(Type.String()),
  }),
  http: { method: 'GET', path: '/v1/dead-letters/{id}' },
  async run(context, input, caller) {
    const letter = await context.deadLetters.show(input.id);
    if (letter === undefined || !maySee(caller, letter.workspace))
      throw deadLetterUnknown({ id: input.id });
    if (!caller.scopes.has('ops:write')) return rowOf(letter);
    const bytes = Buffer.from(letter.payload);
    return {
      ...rowOf(letter),
      ...(isUtf8(bytes)
        ? { payload: bytes.toString('utf8') }
        : { payload_b64: bytes.toString('base64') }),
    };
  },
});

const requeued = Type.Object({
  id: Type.String(),
  status: Type.String(),
  epoch: Type.String(),
  position: Type.String(),
});

export const deadRequeueVerb: Verb = defineVerb({
  name: 'dead requeue',
  summary: 'append a dead letter again, as a new record',
  effect: 'write',
  scope: 'ops:write',
  input: Type.Object({ id: Type.String() }, { additionalProperties: false }),
  output: requeued,
  http: { method: 'POST', path: '/v1/dead-letters/{id}/requeue', status: 202 },
  async run(context, input, caller) {
    const letter = await context.deadLetters.show(input.id);
    if (letter === undefined || !maySee(caller, letter.workspace))
      throw deadLetterUnknown({ id: input.id });
    const { id, status, epoch, position } = await context.deadLetters.requeue(input.id);
    return { id, status, epoch, position };
  },
});

export const deadRequeueSessionVerb: Verb = defineVerb({
  name: 'dead requeue of session',
  summary: 'append all live dead letters of one session again',
  effect: 'write',
  scope: 'ops:write',
  input: Type.Object(
    { session: Type.String(), workspace: Type.Optional(Type.String()) },
    { additionalProperties: false },
  ),
  output: Type.Object({ requeued: Type.Array(requeued), more: Type.Boolean() }),
  countOf: (output) => output.requeued.length,
  http: { method: 'POST', path: '/v1/sessions/{session}/dead-letters/requeue', status: 202 },
  async run(context, input, caller) {
    const { key } = await findSession(context, input.session, input.workspace, caller);
    const done = await context.deadLetters.requeueKey(key);
    return {
      more: done.hasMore,
      requeued: done.requeued.map(({ id, status, epoch, position }) => ({
        id,
        status,
        epoch,
        position,
      })),
    };
  },
});

export const deadDiscardVerb: Verb = defineVerb({
  name: 'dead discard',
  summary: 'give dead letters up by name; shows what it would touch unless dry_run is false',
  effect: 'destroy',
  scope: 'ops:write',
  input: Type.Object(
    {
      ...filterMembers,
      id: Type.Optional(Type.String()),
      reason: Type.Optional(Type.String({ maxLength: 1000 })),
      dry_run: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    dry_run: Type.Boolean(),
    count: Type.Integer(),
    ids: Type.Array(Type.String()),
    more: Type.Boolean(),
  }),
  countOf: ({ count }) => count,
  http: { method: 'POST', path: '/v1/dead-letters/discard' },
  async run(context, input, caller) {
    const { isDryRun, ids, count, hasMore } = await context.deadLetters.discard(
      filterOf(input, caller),
      { principal: caller.principal },
      { isDryRun: input.dry_run !== false },
    );
    return { dry_run: isDryRun, count, ids: [...ids], more: hasMore };
  },
});
