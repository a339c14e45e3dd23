import type { Degradation } from '#ops';

/**
 * Told for as long as the folder is there: what a new state store cannot know must not be forgotten (SC-052). Pure; `nowMs` is the wall clock.
 */
export function degradedBySetAside(
  folders: readonly string[],
  nowMs: number,
): readonly Degradation[] {
  const since = new Date(nowMs).toISOString();
  return folders.map((folder) => ({
    code: 'STATE_SET_ASIDE',
    message: `the state store was damaged and lies in ${folder}; a new one is made from the logs, and what only the old one knew (ids and counters of sessions whose logs are gone) is missing: restore state/daemon from a backup, or accept the loss and remove that folder`,
    since,
  }));
}
