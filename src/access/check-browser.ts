import { isIP } from 'node:net';
import { forbidden } from './errors.ts';
import { isLoopback } from './loopback.ts';

export interface BrowserRules {
  /** The listener can be reached from this machine alone. */
  readonly isLoopbackListener: boolean;
  /** Names, with or without a port, that a proxy may forward as Host; lower case. */
  readonly allowedHosts: ReadonlySet<string>;
}

/**
 * Throws FORBIDDEN when a page of another site may be behind the request: on loopback no token protects us, and a name that an attacker owns
 * can be made to point to 127.0.0.1 (DNS rebinding). Host must be a loopback name or in `http.allowed_hosts`; beyond loopback an address will
 * do, since only names can be re-bound. An Origin must be our own.
 */
export function checkBrowser(
  rules: BrowserRules,
  host: string | undefined,
  origin: string | undefined,
): void {
  // HTTP/1.0 alone may leave Host out (Node refuses it in 1.1), and no browser speaks that.
  if (host !== undefined && !isOwnHost(rules, host))
    throw forbidden({
      reason: `the Host ${shown(host)} is not a name of this daemon: use 127.0.0.1, or add the name to http.allowed_hosts`,
    });
  if (origin !== undefined && !isOwnOrigin(origin, host))
    throw forbidden({
      reason: `the Origin ${shown(origin)} is another site: pages of other sites may not use this daemon`,
    });
}

function isOwnHost({ isLoopbackListener, allowedHosts }: BrowserRules, host: string): boolean {
  const text = host.toLowerCase();
  const name = nameOf(text);
  if (name === undefined) return false;
  if (isLoopback(name) || allowedHosts.has(text) || allowedHosts.has(name)) return true;
  return !isLoopbackListener && isIP(name) !== 0;
}

/** Without port and brackets; undefined for what is no Host. */
function nameOf(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]/@]+))(?::\d{1,5})?$/.exec(host);
  return match?.[1] ?? match?.[2];
}

function isOwnOrigin(origin: string, host: string | undefined): boolean {
  const text = origin.toLowerCase();
  const own = host?.toLowerCase();
  return own !== undefined && (text === `http://${own}` || text === `https://${own}`);
}

/** Client text in a message: quoted, so that no control character gets through, and short. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
