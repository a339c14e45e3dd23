import { isJsonObject, JsonInvalid, parseJson } from '#base';
import { parseKey, type Key, type Position } from '#record';
import { pageTokenInvalid } from './errors.ts';

/** The last letter of a page; the next page begins behind it. */
export interface LetterPlace {
  readonly key: Key;
  /** Undefined: the key has been looked through. */
  readonly at?: Position;
}

/** Opaque to callers (ING-013). */
export function formatPageToken({ key, at }: LetterPlace): string {
  return Buffer.from(JSON.stringify({ key, at })).toString('base64url');
}

/** Throws PAGE_TOKEN_INVALID for everything that `formatPageToken` did not make. */
export function parsePageToken(token: string): LetterPlace {
  const place = readPlace(token);
  if (place === undefined) throw pageTokenInvalid({ token });
  return place;
}

function readPlace(token: string): LetterPlace | undefined {
  try {
    const value = parseJson(Buffer.from(token, 'base64url'));
    if (!isJsonObject(value) || typeof value['key'] !== 'string') return undefined;
    const key = parseKey(value['key']);
    const { at } = value;
    if (key === undefined || (at !== undefined && typeof at !== 'string')) return undefined;
    return at === undefined ? { key } : { key, at: at as Position };
  } catch (error) {
    if (error instanceof JsonInvalid) return undefined;
    throw error;
  }
}

/** `<key>:<epoch>.<start>` → its key; undefined when it is no id of a letter. */
export function keyOfLetterId(id: string): Key | undefined {
  const end = id.lastIndexOf(':');
  return end < 0 ? undefined : parseKey(id.slice(0, end));
}
