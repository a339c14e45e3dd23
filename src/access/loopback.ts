import { BlockList, isIP } from 'node:net';
import { authRequired } from './errors.ts';

const loopbackAddresses = new BlockList();
loopbackAddresses.addSubnet('127.0.0.0', 8, 'ipv4');
loopbackAddresses.addAddress('::1', 'ipv6');

/** `localhost` and the addresses that never leave the machine; without brackets and port. */
export function isLoopback(host: string): boolean {
  const version = isIP(host);
  if (version === 0) return host.toLowerCase() === 'localhost';
  return loopbackAddresses.check(host, version === 4 ? 'ipv4' : 'ipv6');
}

export interface ListenPlan {
  readonly mode: 'auto' | 'none';
  /** Host of the listener, without brackets and port. */
  readonly host: string;
  readonly tokenCount: number;
}

/** Throws AUTH_REQUIRED when a daemon must not listen like this (ING-016): others on the network could write without proof. */
export function checkListen({ mode, host, tokenCount }: ListenPlan): void {
  if (isLoopback(host)) return;
  if (mode === 'none')
    throw authRequired({
      reason: `auth.mode is "none" and http.listen is ${host}, which others can reach: listen on 127.0.0.1, or set auth.mode to "auto" and make tokens`,
    });
  if (tokenCount === 0)
    throw authRequired({
      reason: `http.listen is ${host}, which others can reach, and there is no token: start once on 127.0.0.1 and make one with "millrace tokens add", then listen here`,
    });
}
