import type { KeyStatus } from '#queue';
import type { Letter, LetterFilter } from './dead-letters.ts';
import { fingerprintOf } from './group-letters.ts';

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
  const { id, ids, code, group, event, since, until } = filter;
  if (letter.outcome.kind !== 'live' && filter.withRetired !== true) return false;
  if (id !== undefined && letter.id !== id) return false;
  if (ids !== undefined && !ids.includes(letter.id)) return false;
  if (code !== undefined && letter.error.code !== code) return false;
  if (event !== undefined && letter.event !== event) return false;
  if (since !== undefined && Date.parse(letter.ts) < Date.parse(since)) return false;
  if (until !== undefined && Date.parse(letter.ts) >= Date.parse(until)) return false;
  return group === undefined || fingerprintOf(letter) === group;
}

/** Whether it names anything at all, beside whom it is for. */
export function isNarrow(filter: LetterFilter): boolean {
  const { id, ids, key, session, workspace, code, group, event, since, until } = filter;
  return [id, ids, key, session, workspace, code, group, event, since, until].some(
    (member) => member !== undefined,
  );
}
