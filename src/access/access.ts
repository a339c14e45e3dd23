import type { Clock } from '#base';
import { checkBrowser } from './check-browser.ts';
import { rootOther, unauthenticated } from './errors.ts';
import { checkListen, isLoopback } from './loopback.ts';
import { localPrincipal, type Principal } from './principal.ts';
import type { TokenStore } from './token-store.ts';

export interface AccessOptions {
  readonly tokens: TokenStore;
  readonly clock: Clock;
  /** `auth.mode`. */
  readonly mode: 'auto' | 'none';
  /** Host of the listener, without brackets and port. */
  readonly listenHost: string;
  /** `http.allowed_hosts`. */
  readonly allowedHosts: readonly string[];
  /** Id of the root that is served. */
  readonly rootId: string;
}

/** Who sends a request, and whether it may come at all. */
export interface Access {
  readonly isLoopbackListener: boolean;
  /** The principal of an Authorization header; throws UNAUTHENTICATED. */
  authenticate(authorization: string | undefined): Principal;
  /** The same for routes that anybody may ask: undefined where nobody is proved. */
  identify(authorization: string | undefined): Principal | undefined;
  /** Throws FORBIDDEN for a foreign Host or Origin. */
  checkBrowser(host: string | undefined, origin: string | undefined): void;
  /** Throws ROOT_OTHER for a caller that means another root (B160). */
  checkRoot(named: string | readonly string[] | undefined): void;
}

/** Throws AUTH_REQUIRED when the daemon must not listen like this. */
export function createAccess(options: AccessOptions): Access {
  const { tokens, clock, mode, listenHost } = options;
  checkListen({ mode, host: listenHost, tokenCount: tokens.count() });
  const isLoopbackListener = isLoopback(listenHost);
  const rules = {
    isLoopbackListener,
    allowedHosts: new Set(options.allowedHosts.map((host) => host.toLowerCase())),
  };
  // Nearly every request has the Host of the one before it, and no Origin.
  let knownHost: string | undefined;
  const isOpen = (): boolean => isLoopbackListener && (mode === 'none' || tokens.count() === 0);
  return {
    isLoopbackListener,
    authenticate(authorization) {
      if (isOpen()) return localPrincipal;
      return principalOf(authorization, tokens, clock.now());
    },
    identify(authorization) {
      if (isOpen()) return localPrincipal;
      const secret = secretOf(authorization);
      return secret === undefined ? undefined : tokens.recognise(secret, clock.now()).principal;
    },
    checkBrowser(host, origin) {
      if (origin === undefined && host === knownHost) return;
      checkBrowser(rules, host, origin);
      knownHost = host;
    },
    checkRoot(named) {
      if (named !== undefined && named !== options.rootId)
        throw rootOther({ who: 'this daemon', root: 'the root that Millrace-Root names' });
    },
  };
}

function principalOf(
  authorization: string | undefined,
  tokens: TokenStore,
  nowMs: number,
): Principal {
  const secret = secretOf(authorization);
  if (secret === undefined) throw unauthenticated({ reason: 'a bearer token is missing' });
  const { principal, refusal } = tokens.recognise(secret, nowMs);
  if (principal !== undefined) return principal;
  throw unauthenticated({
    reason:
      refusal === 'expired' ? 'the bearer token has expired' : 'the bearer token is not known',
  });
}

/** Longer ones are none of ours, and need not be hashed to know it. */
const secretCharactersMax = 512;

function secretOf(authorization: string | undefined): string | undefined {
  const match = /^bearer +([^\s]+) *$/i.exec(authorization?.slice(0, secretCharactersMax) ?? '');
  return match?.[1];
}
