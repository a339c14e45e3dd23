import { assert } from '#base';
import type { Verb } from '#ops';
import type { Route } from '../client.ts';

/** Where a verb lives on the wire, and whether it changes anything. */
export interface VerbRoute extends Route {
  readonly effect: Verb['effect'];
}

/** Told by the verb itself, so that no path is written twice. */
export async function findRoute(verb: string): Promise<VerbRoute> {
  // Loaded when a verb is called, so that help and version do not wait for every schema.
  const { verbs } = await import('#ops');
  const found = verbs.find(({ name }) => name === verb);
  assert(found !== undefined, `room ops has no verb "${verb}"`);
  return { method: found.http.method, path: found.http.path, effect: found.effect };
}
