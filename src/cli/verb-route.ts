import { assert } from '#base';
import type { Route } from './client.ts';

/** Where a verb lives on the wire: told by the verb itself, so that no path is written twice. */
export async function findRoute(verb: string): Promise<Route> {
  // Loaded when a verb is called, so that help and version do not wait for every schema.
  const { verbs } = await import('#ops');
  const found = verbs.find(({ name }) => name === verb);
  assert(found !== undefined, `room ops has no verb "${verb}"`);
  return { method: found.http.method, path: found.http.path };
}
