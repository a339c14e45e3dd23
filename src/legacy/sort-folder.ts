/** The files of one session in a folder of the predecessor, by name. */
export interface LegacySession {
  /** What stands before the suffixes: a session id, `_no_session__…`, or a folded name of a long one. */
  readonly name: string;
  readonly log?: string;
  readonly offset?: string;
  readonly dead?: string;
  /** Dead letters of earlier lives of the session: they excuse no line of its log. */
  readonly retired: readonly string[];
  /** An in-place compaction was begun (C17). */
  readonly intent?: string;
}

export interface SortedFolder {
  readonly sessions: readonly LegacySession[];
  /** What is not taken, and why. */
  readonly others: readonly { readonly name: string; readonly reason: string }[];
}

type Kind = 'log' | 'offset' | 'dead' | 'retired' | 'intent';
type Growing = { -readonly [Member in keyof LegacySession]: LegacySession[Member] };

/** Longest suffix first: a session id may hold dots. */
const suffixes: readonly (readonly [pattern: RegExp, kind: Kind])[] = [
  [/^(.+)\.finalized-\d+\.dead\.jsonl$/s, 'retired'],
  [/^(.+)\.dead\.jsonl$/s, 'dead'],
  [/^(.+)\.offset$/s, 'offset'],
  [/^(.+)\.log$/s, 'log'],
  [/^(.+?)(?:\.log)?\.compact[a-z]*(?:[.-][0-9A-Za-z-]+)*$/s, 'intent'],
];

const passedOver: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/\.log\.torn-\d+\.bin$/, 'a torn end that the predecessor cut off: no record of the log'],
  [/\.offset(?:\.[0-9a-f]{32})?\.tmp$/, 'staging of an offset that was never put in place'],
  [/^\.context-intelligence-server\.lock$/, 'the lock of the predecessor'],
  [/^\.writer\.lease$/, 'the lease of the predecessor: see that it runs no more'],
];

/** Sorts names of a folder into sessions (facts of the predecessor, section 6). Pure. */
export function sortFolder(names: readonly string[]): SortedFolder {
  const sessions = new Map<string, Growing & { retired: string[] }>();
  const others: { name: string; reason: string }[] = [];
  for (const name of names) {
    const passed = passedOver.find(([pattern]) => pattern.test(name));
    if (passed !== undefined) {
      others.push({ name, reason: passed[1] });
      continue;
    }
    const found = kindOf(name);
    if (found === undefined) {
      others.push({ name, reason: 'no file of the queue' });
      continue;
    }
    const session = sessions.get(found.session) ?? { name: found.session, retired: [] };
    sessions.set(found.session, session);
    if (found.kind === 'retired') session.retired.push(name);
    else session[found.kind] = name;
  }
  return { sessions: [...sessions.values()], others };
}

function kindOf(name: string): { readonly session: string; readonly kind: Kind } | undefined {
  for (const [pattern, kind] of suffixes) {
    const [, session] = pattern.exec(name) ?? [];
    if (session !== undefined) return { session, kind };
  }
  return undefined;
}
