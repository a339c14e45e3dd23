import { Type } from 'typebox';
import { unauthenticated } from '#access';
import { anonymousPrincipal } from '#record';
import { type Verb, defineVerb } from '../verb.ts';

/** Open to anybody, so that a request without a token is told in our words; whoever proved nothing is refused all the same. */
export const whoamiVerb: Verb = defineVerb({
  name: 'whoami',
  summary: 'who the caller is, and what its token may do',
  effect: 'read',
  scope: null,
  input: Type.Object({}, { additionalProperties: false }),
  output: Type.Object({
    /** Name of the token; `local` on a loopback listener without tokens. */
    id: Type.String(),
    /** False while nobody needs a token. */
    authenticated: Type.Boolean(),
    scopes: Type.Array(Type.String()),
    workspaces: Type.Union([Type.Array(Type.String()), Type.Null()]),
    /** The same in the predecessor's three rights. */
    rights: Type.Object({ read: Type.Boolean(), write: Type.Boolean(), admin: Type.Boolean() }),
  }),
  http: { method: 'GET', path: '/v1/whoami', aliases: [{ method: 'GET', path: '/whoami' }] },
  async run(_context, _input, { principal, scopes, workspaces }) {
    if (scopes.size === 0) throw unauthenticated({ reason: 'a known bearer token is missing' });
    return {
      id: principal,
      authenticated: principal !== anonymousPrincipal,
      scopes: [...scopes].toSorted(),
      workspaces: workspaces === undefined ? null : [...workspaces],
      rights: {
        read: scopes.has('ingest:read'),
        write: scopes.has('ingest:write'),
        admin: scopes.has('ops:write'),
      },
    };
  },
});
