import type { Chance, Clock } from '#base';
import type { Client } from '../client.ts';
import { daemonUnreachable } from '../errors.ts';
import type { VerbRoute } from './verb-route.ts';

/** After a connection that broke, the same request is sent again so often, with these waits between. */
const waitsMs = [100, 1000];

export interface CallTools {
  readonly clock: Clock;
  readonly chance: Chance;
}

/**
 * Calls a verb. One that changes something carries an `Idempotency-Key`, `key` or a fresh one, so that a request whose answer was lost on the
 * way is sent again without being done twice (ING-014).
 */
export async function callOnce(
  client: Client,
  route: VerbRoute,
  input: Readonly<Record<string, unknown>>,
  key: string | undefined,
  { clock, chance }: CallTools,
): Promise<unknown> {
  if (route.effect === 'read') return client.call(route, input);
  const headers = { 'idempotency-key': key ?? chance.uuid() };
  for (const waitMs of waitsMs) {
    try {
      return await client.call(route, input, headers);
    } catch (error) {
      if (!isBroken(error)) throw error;
      await clock.sleep(waitMs);
    }
  }
  return client.call(route, input, headers);
}

/** Somebody listened, and the connection ended before the answer came; nobody at all is no reason to try again. */
function isBroken(error: unknown): boolean {
  if (!daemonUnreachable.is(error)) return false;
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET';
}
