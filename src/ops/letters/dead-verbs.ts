import { isUtf8 } from 'node:buffer';
import { Type } from 'typebox';
import { isMillraceError } from '#base';
import { deadLetterUnknown, eventTextOf, type Letter } from '#dead-letters';
import type { BatchItem } from '#queue';
import { parseLine } from '#record';
import {
  filterMembers,
  filterOf,
  letterPage,
  letterRow,
  pageMembers,
  pageOf,
  placeOf,
  rowOf,
} from './letter-input.ts';
import type { OpsContext } from '../ops-context.ts';
import { findSession, maySee } from '../sessions/session-lookup.ts';
import { type Caller, type Verb, defineVerb } from '../verb.ts';

export const deadListVerb: Verb = defineVerb({
  name: 'dead list',
  summary: 'dead letters of all sessions, with their reasons',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object(
    { ...filterMembers, ...pageMembers, retired: Type.Optional(Type.Boolean()) },
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

const groupRow = Type.Object({
  group: Type.String(),
  code: Type.String(),
  message: Type.String(),
  count: Type.Integer(),
  sessions: Type.Integer(),
  /** Letters per event; the empty name stands for bytes that are no event. */
  events: Type.Record(Type.String(), Type.Integer()),
  first_ts: Type.String(),
  last_ts: Type.String(),
  sample: letterRow,
});

export const deadGroupsVerb: Verb = defineVerb({
  name: 'dead groups',
  summary: 'dead letters by their reasons: how many, since when, and one of each',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object(
    { ...filterMembers, retired: Type.Optional(Type.Boolean()) },
    { additionalProperties: false },
  ),
  output: Type.Object({
    groups: Type.Array(groupRow),
    letters: Type.Integer(),
    omitted: Type.Integer(),
  }),
  http: { method: 'GET', path: '/v1/dead-letters/groups' },
  async run(context, input, caller) {
    const { groups, letters, omitted } = await context.deadLetters.groups(filterOf(input, caller));
    return {
      letters,
      omitted,
      groups: groups.map(({ firstTs, lastTs, sample, events, ...group }) => ({
        ...group,
        events: { ...events },
        first_ts: firstTs,
        last_ts: lastTs,
        sample: rowOf(sample),
      })),
    };
  },
});

const neighbourRow = Type.Object({
  position: Type.String(),
  event: Type.Union([Type.String(), Type.Null()]),
  event_id: Type.Union([Type.String(), Type.Null()]),
  accepted_at: Type.Union([Type.String(), Type.Null()]),
  bytes: Type.Integer(),
  state: Type.Union([Type.Literal('applied'), Type.Literal('dead'), Type.Literal('pending')]),
  preview: Type.Optional(Type.String()),
});

const lifeRow = Type.Object({
  id: Type.String(),
  ts: Type.String(),
  state: Type.String(),
  sha256: Type.String(),
  attempts: Type.Integer(),
  error: Type.Object({ code: Type.String(), message: Type.String() }),
});

const showMembers = Type.Object({
  group: Type.String(),
  /** This letter and those that it was before or became by requeues, oldest first. */
  history: Type.Array(lifeRow),
  /** Null when the log does not hold the place any more. */
  neighbours: Type.Union([
    Type.Object({ before: Type.Array(neighbourRow), after: Type.Array(neighbourRow) }),
    Type.Null(),
  ]),
  payload: Type.Optional(Type.String()),
  payload_b64: Type.Optional(Type.String()),
  /** The event as a client would post it, to be edited. */
  editable: Type.Optional(Type.String()),
});

const showOutput = Type.Intersect([letterRow, showMembers]);

const neighboursMax = 20;
const previewCharacters = 300;

export const deadShowVerb: Verb = defineVerb({
  name: 'dead show',
  summary:
    'one dead letter, its earlier lives and its neighbours; payloads for callers with ops:write',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object(
    {
      id: Type.String(),
      neighbours: Type.Optional(Type.Integer({ minimum: 0, maximum: neighboursMax })),
    },
    { additionalProperties: false },
  ),
  output: showOutput,
  http: { method: 'GET', path: '/v1/dead-letters/{id}' },
  async run(context, input, caller) {
    const letter = await findLetter(context, input.id, caller);
    const mayRead = caller.scopes.has('ops:write');
    const lives = await context.deadLetters.history(letter);
    return {
      ...rowOf(letter),
      group: context.deadLetters.groupOf(letter),
      history: lives.map(({ id, ts, outcome, sha256, attempts, error }) => ({
        id,
        ts,
        state: outcome.kind,
        sha256,
        attempts,
        error: { code: error.code, message: error.message },
      })),
      neighbours: await neighboursOf(context, letter, input.neighbours ?? 3, mayRead),
      ...(mayRead ? payloadOf(letter) : {}),
    };
  },
});

/** The letter, or DEAD_LETTER_UNKNOWN, also for one of a workspace that the caller may not use. */
export async function findLetter(context: OpsContext, id: string, caller: Caller): Promise<Letter> {
  const letter = await context.deadLetters.show(id);
  if (letter === undefined || !maySee(caller, letter.workspace)) throw deadLetterUnknown({ id });
  return letter;
}

/** Text where the bytes are text; base64 loses nothing of others. */
export function payloadOf(letter: Letter): {
  readonly payload?: string;
  readonly payload_b64?: string;
  readonly editable?: string;
} {
  const bytes = Buffer.from(letter.payload);
  if (!isUtf8(bytes)) return { payload_b64: bytes.toString('base64') };
  const editable = eventTextOf(letter);
  return {
    payload: bytes.toString('utf8'),
    ...(editable === undefined ? {} : { editable }),
  };
}

async function neighboursOf(context: OpsContext, letter: Letter, count: number, mayRead: boolean) {
  const found = count === 0 ? undefined : await around(context, letter, count);
  if (found === undefined) return null;
  const { committed = '' } = (await context.ledger.keyStatus(letter.key)) ?? {};
  const dead = new Set<string>();
  for await (const { at } of context.deadLetters.each({ key: letter.key, withRetired: true }))
    dead.add(at);
  const rowOfItem = ({ raw, at }: BatchItem) => {
    const { record } = parseLine(raw, letter.key);
    const state = dead.has(at) ? 'dead' : at < committed ? 'applied' : 'pending';
    return {
      position: at as string,
      event: record?.event ?? null,
      event_id: record?.id ?? null,
      accepted_at: record?.acceptedAt ?? null,
      bytes: raw.byteLength,
      state: state as 'dead' | 'applied' | 'pending',
      ...(mayRead && record !== undefined
        ? { preview: JSON.stringify(record.data).slice(0, previewCharacters) }
        : {}),
    };
  };
  return { before: found.before.map(rowOfItem), after: found.after.map(rowOfItem) };
}

/** Damage beside a letter is told by its quarantine; the letter is shown all the same. */
async function around(context: OpsContext, letter: Letter, count: number) {
  try {
    return await context.deadLetters.surroundings(letter, count);
  } catch (error) {
    if (isMillraceError(error) && error.disposition === 'corrupt') return undefined;
    throw error;
  }
}
