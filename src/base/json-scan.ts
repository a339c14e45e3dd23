/** Where members of an object stand, four numbers each: first byte of the name's opening quote, one past its closing one, first byte of the value, one past its last. */
export type MemberPlaces = readonly number[];

/** Numbers of one member. */
export const placesPerMember = 4;

/** What a pass over the text of an object has found. */
export interface ScannedObject {
  /** The top-level members, in order, a repeated name as often as it stands there. */
  readonly outer: MemberPlaces;
  /** Those of the last top-level member with the name that was asked for, when it is an object. */
  readonly inner: MemberPlaces | undefined;
}

/** Not JSON, or too deep, or not plain: whoever wants to know which asks `parseJson`. */
const none = -1;

/** Of Latin-1, what stands below the space. */
const control = /[^ -\u00ff]/;

/**
 * Checks that a text is one JSON object (RFC 8259) and finds its members, in one pass that makes no value: `JSON.parse` makes all of them, and a second pass
 * would look for where they stand. `text` is the bytes as Latin-1, so that places in it are places in the bytes; whether they are UTF-8 is for the caller to ask.
 * Undefined for all that `parseJson` refuses, and for some that it takes: line breaks and tabs between tokens, and names with escapes at the two levels that are
 * told. What this takes, `parseJson` takes too (D10); a test compares them on recorded, random and damaged texts.
 */
export function scanObject(
  text: string,
  { depthMax, inside }: { readonly depthMax: number; readonly inside: string },
): ScannedObject | undefined {
  // Once for all strings, 0.5 µs for 0.9 KB: each of them is then searched for its end alone.
  return control.test(text) ? undefined : new Scan(text, inside).object(depthMax);
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** Characters that a plain loop walks before a search, which costs as much to begin: most names and ids are shorter. */
const loopCharacters = 24;

/** Each step takes where something begins and returns one past its end, or `none`. */
class Scan {
  readonly #text: string;
  readonly #inside: string;
  /** The first backslash behind the place from which one was last looked for; the length when there is none. */
  #backslashAt = -1;
  /** Seen so far, in names and texts. */
  #escapes = 0;
  #inner: MemberPlaces | undefined;

  constructor(text: string, inside: string) {
    this.#text = text;
    this.#inside = inside;
  }

  object(depthMax: number): ScannedObject | undefined {
    const outer: number[] = [];
    const end = this.#members(this.#skipSpace(0), depthMax, outer, true);
    if (end === none || this.#skipSpace(end) !== this.#text.length) return undefined;
    return { outer, inner: this.#inner };
  }

  #isInside(keyStart: number, keyEnd: number): boolean {
    return (
      keyEnd - keyStart === this.#inside.length + 2 &&
      this.#text.startsWith(this.#inside, keyStart + 1)
    );
  }

  #insideEnd(start: number, depthLeft: number): number {
    if (this.#text.charCodeAt(start) !== openBrace) {
      this.#inner = undefined;
      return this.#value(start, depthLeft);
    }
    const places: number[] = [];
    this.#inner = places;
    return this.#members(start, depthLeft, places);
  }

  #value(at: number, depthLeft: number): number {
    const text = this.#text;
    switch (text.charCodeAt(at)) {
      case quote:
        return this.#string(at);
      case openBrace:
        return this.#members(at, depthLeft);
      case openBracket:
        return this.#items(at, depthLeft);
      case 0x74:
        return text.startsWith('true', at) ? at + 4 : none;
      case 0x66:
        return text.startsWith('false', at) ? at + 5 : none;
      case 0x6e:
        return text.startsWith('null', at) ? at + 4 : none;
      default:
        return numberEnd(text, at);
    }
  }

  /** With `places` it tells where the members stand, and takes no name with an escape then. */
  #members(from: number, depthLeft: number, places?: number[], isOuter = false): number {
    const text = this.#text;
    if (depthLeft < 1 || text.charCodeAt(from) !== openBrace) return none;
    let at = this.#skipSpace(from + 1);
    if (text.charCodeAt(at) === closeBrace) return at + 1;
    for (;;) {
      const keyStart = at;
      const escapes = this.#escapes;
      const keyEnd = text.charCodeAt(at) === quote ? this.#string(at) : none;
      if (keyEnd === none || (places !== undefined && this.#escapes !== escapes)) return none;
      const start = this.#valueStart(keyEnd);
      if (start === none) return none;
      const end =
        isOuter && this.#isInside(keyStart, keyEnd)
          ? this.#insideEnd(start, depthLeft - 1)
          : this.#value(start, depthLeft - 1);
      if (end === none) return none;
      places?.push(keyStart, keyEnd, start, end);
      at = this.#skipSpace(end);
      const code = text.charCodeAt(at);
      if (code === closeBrace) return at + 1;
      if (code !== comma) return none;
      at = this.#skipSpace(at + 1);
    }
  }

  #items(from: number, depthLeft: number): number {
    const text = this.#text;
    if (depthLeft < 1) return none;
    let at = this.#skipSpace(from + 1);
    if (text.charCodeAt(at) === closeBracket) return at + 1;
    for (;;) {
      const end = this.#value(at, depthLeft - 1);
      if (end === none) return none;
      at = this.#skipSpace(end);
      const code = text.charCodeAt(at);
      if (code === closeBracket) return at + 1;
      if (code !== comma) return none;
      at = this.#skipSpace(at + 1);
    }
  }

  #valueStart(keyEnd: number): number {
    const at = this.#skipSpace(keyEnd);
    return this.#text.charCodeAt(at) === colon ? this.#skipSpace(at + 1) : none;
  }

  /** From the opening quote to behind the closing one. */
  #string(from: number): number {
    const text = this.#text;
    let at = from + 1;
    for (;;) {
      at = this.#stopAt(at);
      if (at === none) return none;
      if (text.charCodeAt(at) === quote) return at + 1;
      at = escapeEnd(text, at + 1);
      if (at === none) return none;
      this.#escapes += 1;
    }
  }

  /** The next quote or backslash of a string. */
  #stopAt(from: number): number {
    const text = this.#text;
    const stop = Math.min(from + loopCharacters, text.length);
    for (let at = from; at < stop; at += 1) {
      const code = text.charCodeAt(at);
      if (code === quote || code === backslash) return at;
    }
    const end = text.indexOf('"', stop);
    if (end === none) return none;
    if (this.#backslashAt < stop) {
      const found = text.indexOf('\\', stop);
      this.#backslashAt = found < 0 ? text.length : found;
    }
    return Math.min(end, this.#backslashAt);
  }

  #skipSpace(from: number): number {
    const text = this.#text;
    let at = from;
    while (at < text.length && text.charCodeAt(at) === 0x20) at += 1;
    return at;
  }
}

/** One past an escape; `at` is behind its backslash. */
function escapeEnd(text: string, at: number): number {
  switch (text.charCodeAt(at)) {
    case 0x6e: // n
    case quote:
    case backslash:
    case 0x2f: // /
    case 0x74: // t
    case 0x72: // r
    case 0x62: // b
    case 0x66: // f
      return at + 1;
    case 0x75: // u
      for (let digit = at + 1; digit <= at + 4; digit += 1)
        if (!isHexDigit(text.charCodeAt(digit))) return none;
      return at + 5;
    default:
      return none;
  }
}

function isHexDigit(code: number): boolean {
  return isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);
}

function numberEnd(text: string, from: number): number {
  let at = text.charCodeAt(from) === 0x2d ? from + 1 : from;
  const first = text.charCodeAt(at);
  if (!isDigit(first)) return none;
  at = first === 0x30 ? at + 1 : digitsEnd(text, at);
  if (text.charCodeAt(at) === 0x2e) {
    if (!isDigit(text.charCodeAt(at + 1))) return none;
    at = digitsEnd(text, at + 1);
  }
  const exponent = text.charCodeAt(at);
  if (exponent !== 0x65 && exponent !== 0x45) return at;
  const sign = text.charCodeAt(at + 1);
  const digits = sign === 0x2b || sign === 0x2d ? at + 2 : at + 1;
  return isDigit(text.charCodeAt(digits)) ? digitsEnd(text, digits) : none;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function digitsEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && isDigit(text.charCodeAt(at))) at += 1;
  return at;
}
