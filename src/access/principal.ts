import { anonymousPrincipal } from '#record';
import { forbidden } from './errors.ts';
import { scopes, type Scope } from './scopes.ts';

/** Who sends a request, as far as it was proved. Its name is what records keep as `by` (ING-915). */
export interface Principal {
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Workspaces that it may use; undefined means all. */
  readonly workspaces: readonly string[] | undefined;
}

/** Everybody on a loopback listener while no token exists: the machine's own users are trusted. */
export const localPrincipal: Principal = {
  name: anonymousPrincipal,
  scopes: new Set(scopes),
  workspaces: undefined,
};

export function mayUseWorkspace(principal: Principal, workspace: string): boolean {
  return principal.workspaces === undefined || principal.workspaces.includes(workspace);
}

/** Throws FORBIDDEN when the principal lacks the scope. */
export function requireScope(principal: Principal, scope: Scope): void {
  if (principal.scopes.has(scope)) return;
  throw forbidden({
    reason: `the token "${principal.name}" has no scope ${scope}; use one that has, or make one with "millrace tokens add"`,
  });
}
