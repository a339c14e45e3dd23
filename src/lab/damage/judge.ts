import { isDeepStrictEqual } from 'node:util';
import type { RootView, SessionView } from './view.ts';

/** What a daemon on a damaged root has told somebody who looks: sessions that it stopped, and words that name the damage. */
export interface Told {
  readonly stopped: ReadonlyMap<string, string>;
  /** Its log and its status, as one text. */
  readonly words: string;
}

/** Sessions whose books, letters or graph are not those of an undisturbed run. */
export function changedSessions(found: RootView, expected: RootView): readonly string[] {
  return [...expected.sessions]
    .filter(([session, view]) => !isDeepStrictEqual(found.sessions.get(session), view))
    .map(([session]) => session);
}

/**
 * What is wrong with what a damaged root has become; nothing where promises hold. A session that differs must have been stopped or named (P7), a session
 * whose files were not touched must not differ (P7), and the books must balance (P4).
 */
export function faultsOf(
  path: string,
  found: RootView,
  expected: RootView,
  told: Told,
): readonly string[] {
  const own = sessionOf(path, [...expected.sessions.keys()]);
  const faults: string[] = [];
  for (const session of changedSessions(found, expected)) {
    const isNamed =
      told.stopped.has(session) ||
      told.words.includes(nameIn(path)) ||
      told.words.includes(`~${session} `);
    if (!isNamed)
      faults.push(
        `${session} differs and nobody was told: ${differenceOf(session, found, expected)}`,
      );
    else if (own !== undefined && own !== session)
      faults.push(`${session} differs, though only ${own} was damaged`);
  }
  for (const [session, code] of told.stopped)
    if (own !== undefined && own !== session)
      faults.push(`${session} was stopped (${code}), though only ${own} was damaged`);
  if (found.books.residual !== 0 && told.stopped.size === 0)
    faults.push(`the residual is ${found.books.residual} and no session is stopped`);
  return faults;
}

/** The session whose folder holds the file; undefined for what belongs to the whole root. */
export function sessionOf(path: string, sessions: readonly string[]): string | undefined {
  return sessions.find((session) => path.includes(`~${session}/`));
}

/** A message names a file by the end of its path; a store of several files by its folder. */
export function nameIn(path: string): string {
  if (path.startsWith('state/')) return 'state/daemon';
  if (path.startsWith('graph/')) return 'graph';
  if (path.startsWith('control/')) return 'control.db';
  if (path.startsWith('queue/journal/')) return 'the journal';
  return path.split('/').at(-1) ?? path;
}

function differenceOf(session: string, found: RootView, expected: RootView): string {
  return differencesIn(found.sessions.get(session), expected.sessions.get(session)).join('; ');
}

/** Member by member; of long lists what is missing and what is too much. */
export function differencesIn(
  found: SessionView | undefined,
  expected: SessionView | undefined,
): readonly string[] {
  if (found === undefined || expected === undefined) return ['it is missing'];
  const told: string[] = [];
  for (const member of [
    'accepted',
    'applied',
    'pending',
    'dead',
    'discarded',
    'isFinalised',
  ] as const)
    if (found[member] !== expected[member])
      told.push(`${member} ${String(found[member])} in place of ${String(expected[member])}`);
  for (const member of ['letters', 'graph'] as const) {
    const missing = expected[member].filter((line) => !found[member].includes(line));
    const more = found[member].filter((line) => !expected[member].includes(line));
    if (missing.length > 0) told.push(`${missing.length} ${member} missing: ${missing[0]}`);
    if (more.length > 0) told.push(`${more.length} ${member} too much: ${more[0]}`);
    if (missing.length + more.length === 0 && found[member].length !== expected[member].length)
      told.push(`${found[member].length} ${member} in place of ${expected[member].length}`);
  }
  return told;
}
