import { parseKey, type Key, type Position } from '#record';

/** The last letter of a page; the next page begins behind it. */
export interface LetterPlace {
  readonly key: Key;
  /** Undefined: the key has been looked through. */
  readonly at?: Position;
}

/** Opaque to callers (ING-013). Keys hold no colon. */
export function formatPageToken({ key, at }: LetterPlace): string {
  return at === undefined ? key : `${key}:${at}`;
}

/** Any text is a place between keys and positions, since both are only compared. */
export function parsePageToken(token: string): LetterPlace {
  const end = token.indexOf(':');
  if (end < 0) return { key: token as Key };
  return { key: token.slice(0, end) as Key, at: token.slice(end + 1) as Position };
}

/** `<key>:<epoch>.<start>` → its key; undefined when it is no id of a letter. */
export function keyOfLetterId(id: string): Key | undefined {
  const end = id.indexOf(':');
  return end < 0 ? undefined : parseKey(id.slice(0, end));
}
