import type { Degradation } from '#ops';
import type { StateLoss } from '#state';

/**
 * Told for as long as the path is there: what a new or an older state store cannot know must not be forgotten (SC-052). Pure; `nowMs` is the wall
 * clock.
 */
export function degradedByLosses(
  losses: readonly StateLoss[],
  nowMs: number,
): readonly Degradation[] {
  const since = new Date(nowMs).toISOString();
  return losses.map(({ kind, path }) => ({
    code: codes[kind],
    message: messages[kind](path),
    since,
  }));
}

const codes: Readonly<Record<StateLoss['kind'], string>> = {
  damaged: 'STATE_SET_ASIDE',
  behind: 'STATE_BEHIND',
};

const consequence =
  'what only the other one knew (ids and counters of sessions whose logs are gone) is missing, so that events of such sessions that are sent again are taken again: restore the whole root from a backup, or accept the loss and remove';

const messages: Readonly<Record<StateLoss['kind'], (path: string) => string>> = {
  damaged: (path) =>
    `the state store was damaged and lies in ${path}; a new one is made of what was sound in it and from the logs (the log of the start tells how much), and ${consequence} that folder`,
  behind: (path) =>
    `the state store state/daemon was missing or was replaced by an older copy; it is caught up from the logs, and ${consequence} ${path}`,
};
