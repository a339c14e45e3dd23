import { Type } from 'typebox';
import { forbidden, type NewToken, type TokenView } from '#access';
import type { Clock } from '#base';
import { operatorMissing, tokenUnknown } from '../errors.ts';
import { type Caller, type Verb, defineVerb } from '../verb.ts';

const tokenRow = Type.Object({
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  workspaces: Type.Union([Type.Array(Type.String()), Type.Null()]),
  created_at: Type.String(),
  expires_at: Type.Union([Type.String(), Type.Null()]),
});

function rowOf(view: TokenView) {
  return {
    name: view.name,
    scopes: [...view.scopes],
    workspaces: view.workspaces === undefined ? null : [...view.workspaces],
    created_at: view.createdAt,
    expires_at: view.expiresAt ?? null,
  };
}

/** Who may use some workspaces only has no power over tokens that may use others: else it could give itself all. */
function requirePowerOver(caller: Caller, workspaces: readonly string[] | undefined): void {
  const own = caller.workspaces;
  if (own === undefined) return;
  if (workspaces !== undefined && workspaces.every((name) => own.includes(name))) return;
  throw forbidden({
    reason: `this token may use the workspaces ${own.join(', ')} only, so it can make and revoke tokens for no others`,
  });
}

/** Whether a token can manage all others on a running daemon. */
function isOperator(
  { scopes, workspaces, expiresAt }: NewToken | TokenView,
  clock: Clock,
): boolean {
  const isLive = expiresAt === undefined || Date.parse(expiresAt) > clock.now();
  return scopes.includes('ops:write') && workspaces === undefined && isLive;
}

/** A caller says this who knows that nobody will manage tokens on the running daemon. */
const withoutOperator = { without_operator: Type.Optional(Type.Boolean()) };

const scopesDefault = ['ingest:write', 'ingest:read'];

export const tokensAddVerb: Verb = defineVerb({
  name: 'tokens add',
  summary: 'make a token; its secret is in this answer and nowhere else',
  effect: 'write',
  scope: 'ops:write',
  input: Type.Object(
    {
      name: Type.String({ minLength: 1, maxLength: 128 }),
      scopes: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
      workspaces: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
      expires_at: Type.Optional(Type.String()),
      ...withoutOperator,
    },
    { additionalProperties: false },
  ),
  output: Type.Object({ token: Type.String(), ...tokenRow.properties }),
  isAnswerSecret: true,
  http: { method: 'POST', path: '/v1/tokens' },
  async run(context, input, caller) {
    requirePowerOver(caller, input.workspaces);
    const { name, scopes = scopesDefault, workspaces, expires_at: expiresAt } = input;
    const wanted: NewToken = {
      name,
      scopes,
      ...(workspaces === undefined ? {} : { workspaces }),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    };
    const isFirst = (await context.tokens.list()).length === 0;
    if (isFirst && !isOperator(wanted, context.clock) && input.without_operator !== true)
      throw operatorMissing({ name, act: 'add' });
    const { token, view } = await context.tokens.add(wanted);
    return { token, ...rowOf(view) };
  },
});

export const tokensListVerb: Verb = defineVerb({
  name: 'tokens list',
  summary: 'names, scopes, workspaces and expiry of all tokens',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object({}, { additionalProperties: false }),
  output: Type.Object({ tokens: Type.Array(tokenRow) }),
  http: { method: 'GET', path: '/v1/tokens' },
  run: async (context) => ({ tokens: (await context.tokens.list()).map(rowOf) }),
});

export const tokensRevokeVerb: Verb = defineVerb({
  name: 'tokens revoke',
  summary: 'refuse a token from now on',
  effect: 'destroy',
  scope: 'ops:write',
  input: Type.Object(
    { name: Type.String({ minLength: 1 }), ...withoutOperator },
    { additionalProperties: false },
  ),
  output: Type.Object({ name: Type.String(), revoked: Type.Literal(true) }),
  http: { method: 'DELETE', path: '/v1/tokens/{name}' },
  async run(context, input, caller) {
    const tokens = await context.tokens.list();
    const known = tokens.find(({ name }) => name === input.name);
    if (known !== undefined) requirePowerOver(caller, known.workspaces);
    const rest = tokens.filter((token) => token !== known);
    const isLastOperator =
      known !== undefined &&
      isOperator(known, context.clock) &&
      rest.length > 0 &&
      !rest.some((token) => isOperator(token, context.clock));
    if (isLastOperator && input.without_operator !== true)
      throw operatorMissing({ name: input.name, act: 'revoke' });
    if (!(await context.tokens.revoke(input.name))) throw tokenUnknown({ name: input.name });
    return { name: input.name, revoked: true as const };
  },
});
