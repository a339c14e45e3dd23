import { anonymousPrincipal } from '#record';
import { tokenInvalid } from './errors.ts';
import { isScope, scopes } from './scopes.ts';
import type { NewToken } from './token-store.ts';
import type { StoredToken } from './tokens-file.ts';

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/;
/** Workspaces that one token may name. */
const workspacesMax = 1000;

/** What a new token is to be, checked; throws TOKEN_INVALID. The name stands in every record that it sends. */
export function checkNewToken(
  token: NewToken,
  nowMs: number,
): Pick<StoredToken, 'name' | 'scopes' | 'workspaces' | 'expires_at'> {
  if (!namePattern.test(token.name))
    throw refused(
      'its name must be 1 to 128 letters, digits or . _ @ -, beginning with a letter or digit',
    );
  if (token.name === anonymousPrincipal)
    throw refused(`the name "${anonymousPrincipal}" stands for senders without a token`);
  const unknown = token.scopes.find((scope) => !isScope(scope));
  if (unknown !== undefined)
    throw refused(`${JSON.stringify(unknown)} is no scope; there are ${scopes.join(', ')}`);
  const known = [...new Set(token.scopes.filter(isScope))];
  if (known.length === 0) throw refused(`it needs a scope; there are ${scopes.join(', ')}`);
  return {
    name: token.name,
    scopes: known,
    workspaces: checkWorkspaces(token.workspaces),
    expires_at: checkExpiry(token.expiresAt, nowMs),
  };
}

function checkWorkspaces(workspaces: readonly string[] | undefined): readonly string[] | null {
  if (workspaces === undefined) return null;
  const named = [...new Set(workspaces)];
  if (named.length === 0) throw refused('it names no workspace; leave the list out for all');
  if (named.length > workspacesMax) throw refused(`it names more than ${workspacesMax} workspaces`);
  if (named.some((workspace) => workspace.trim() === '')) throw refused('a workspace is empty');
  return named.length === 1 && named[0] === '*' ? null : named;
}

function checkExpiry(expiresAt: string | undefined, nowMs: number): string | null {
  if (expiresAt === undefined) return null;
  const ms = Date.parse(expiresAt);
  if (Number.isNaN(ms)) throw refused(`${JSON.stringify(expiresAt.slice(0, 64))} is no time`);
  if (ms <= nowMs) throw refused('it would have expired already');
  return new Date(ms).toISOString();
}

function refused(reason: string): Error {
  return tokenInvalid({ reason });
}
