import { assert } from '#base';
import { verbs } from '#ops';
import type { Route } from './client.ts';

/** Where a verb lives on the wire: told by the verb itself, so that no path is written twice. */
export function findRoute(verb: string): Route {
  const found = verbs.find(({ name }) => name === verb);
  assert(found !== undefined, `room ops has no verb "${verb}"`);
  return { method: found.http.method, path: found.http.path };
}
