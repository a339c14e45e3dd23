import type { KeyStatus } from '#queue';
import type { Letter, LetterFilter } from './dead-letters.ts';

/** Whether a key can have letters that a filter means; its letters are read only then. */
export function matchesKey(filter: LetterFilter, status: KeyStatus): boolean {
  const { key, session, workspace, visibleWorkspaces } = filter;
  if (filter.withRetired !== true && status.dead === 0) return false;
  if (key !== undefined && status.key !== key) return false;
  if (session !== undefined && status.session !== session) return false;
  if (workspace !== undefined && status.workspace !== workspace) return false;
  return visibleWorkspaces === undefined || visibleWorkspaces.includes(status.workspace);
}

export function matchesLetter(filter: LetterFilter, letter: Letter): boolean {
  const { id, code, event, since } = filter;
  const isOld = letter.isRetired || letter.outcome.kind !== 'live';
  if (isOld && filter.withRetired !== true) return false;
  if (id !== undefined && letter.id !== id) return false;
  if (code !== undefined && letter.error.code !== code) return false;
  if (event !== undefined && letter.event !== event) return false;
  return since === undefined || Date.parse(letter.ts) >= Date.parse(since);
}

/** Whether it names anything at all, beside whom it is for. */
export function isNarrow(filter: LetterFilter): boolean {
  const { id, key, session, workspace, code, event, since } = filter;
  return [id, key, session, workspace, code, event, since].some((member) => member !== undefined);
}
