import { createHash } from 'node:crypto';
import type { Letter } from './dead-letters.ts';

/** Letters with one cause, as far as their reasons tell. */
export interface LetterGroup {
  /** `fingerprintOf` of each of its letters. */
  readonly group: string;
  readonly code: string;
  /** The message with ids, numbers and quoted texts left out. */
  readonly message: string;
  readonly count: number;
  readonly sessions: number;
  /** Letters per event, most first; the bytes of some are no event. */
  readonly events: Readonly<Record<string, number>>;
  readonly firstTs: string;
  readonly lastTs: string;
  /** The oldest of them, to look at. */
  readonly sample: Letter;
}

export interface LetterGroups {
  /** Largest first. */
  readonly groups: readonly LetterGroup[];
  readonly letters: number;
  /** Letters of groups beyond the most that are told. */
  readonly omitted: number;
}

/** Causes are few; where they are not, the rest is counted only. */
const groupsMax = 1000;
const eventsMax = 50;

/** What differs between two failures of one cause, longest forms first. */
const variable: readonly (readonly [pattern: RegExp, mark: string])[] = [
  [/"(?:[^"\\]|\\.)*"/g, '"…"'],
  // Not the apostrophe of "can't".
  [/(?<![\p{L}\p{N}])'[^']*'/gu, "'…'"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, 'ID'],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?/g, 'TIME'],
  [/\b[0-9a-f]{8}\.[0-9a-f]{14}\.[\w-]+/g, 'POSITION'],
  [/\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b/gi, 'HEX'],
  // The digit of a name such as Neo4j stays.
  [/(?<![a-z])\d+|\d{2,}|\d(?![a-z])/gi, 'N'],
];
const messageLengthMax = 500;
/** No word of a message is as long as a name that is replaced wherever it stands. */
const nameLengthMin = 16;

/** A message without what differs from letter to letter: the names of its session first, they may be anything. */
export function normaliseMessage({
  key,
  workspace,
  session,
  error,
}: Pick<Letter, 'key' | 'workspace' | 'session' | 'error'>): string {
  let text = error.message.slice(0, messageLengthMax).replaceAll(key, '…');
  for (const [noun, name] of [
    ['session', session],
    ['workspace', workspace],
  ] as const) {
    // A short name may be any word of the message, so it counts only where it stands behind its noun.
    text = text.replaceAll(`${noun} ${name}`, `${noun} …`);
    if (name.length >= nameLengthMin) text = text.replaceAll(name, '…');
  }
  for (const [pattern, mark] of variable) text = text.replace(pattern, mark);
  return text;
}

/** 16 hex digits that stand for code and normalised message: stable over restarts and releases of one wording. */
export function fingerprintOf(
  letter: Pick<Letter, 'key' | 'workspace' | 'session' | 'error'>,
): string {
  const text = `${letter.error.code}\n${normaliseMessage(letter)}`;
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

interface Growing {
  count: number;
  readonly keys: Set<string>;
  readonly events: Map<string, number>;
  firstTs: string;
  lastTs: string;
  sample: Letter;
}

/** Takes letters one by one; the memory follows the number of groups and of their sessions. */
export class LetterGrouper {
  readonly #groups = new Map<string, Growing>();
  #letters = 0;
  #omitted = 0;

  add(letter: Letter): void {
    this.#letters += 1;
    const name = fingerprintOf(letter);
    const known = this.#groups.get(name);
    if (known === undefined && this.#groups.size >= groupsMax) {
      this.#omitted += 1;
      return;
    }
    const group = known ?? grown(letter);
    if (known === undefined) this.#groups.set(name, group);
    group.count += 1;
    group.keys.add(letter.key);
    const event = letter.event ?? '';
    if (group.events.has(event) || group.events.size < eventsMax)
      group.events.set(event, (group.events.get(event) ?? 0) + 1);
    if (letter.ts < group.firstTs) [group.firstTs, group.sample] = [letter.ts, letter];
    if (letter.ts > group.lastTs) group.lastTs = letter.ts;
  }

  end(): LetterGroups {
    const groups = [...this.#groups].map(([group, one]): LetterGroup => ({
      group,
      code: one.sample.error.code,
      message: normaliseMessage(one.sample),
      count: one.count,
      sessions: one.keys.size,
      events: Object.fromEntries([...one.events].toSorted((a, b) => b[1] - a[1])),
      firstTs: one.firstTs,
      lastTs: one.lastTs,
      sample: one.sample,
    }));
    groups.sort((a, b) => b.count - a.count || (a.group < b.group ? -1 : 1));
    return { groups, letters: this.#letters, omitted: this.#omitted };
  }
}

function grown(letter: Letter): Growing {
  const { ts } = letter;
  return {
    count: 0,
    keys: new Set(),
    events: new Map(),
    firstTs: ts,
    lastTs: ts,
    sample: letter,
  };
}
