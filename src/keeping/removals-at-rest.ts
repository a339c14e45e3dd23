import { removalsAtRest } from '#control';
import type { Key } from '#record';
import { sessionsIn } from './session-removal.ts';

/** Sessions whose deletion was cut off, in the control database of a root that nobody serves: some stores have them, some do not. */
export function keysBeingRemoved(controlDatabase: string): ReadonlySet<Key> {
  const sessions = removalsAtRest(controlDatabase).flatMap((text) => sessionsIn(text));
  return new Set(sessions.map(({ key }) => key));
}
