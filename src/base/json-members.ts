import { assert } from './assert.ts';

/** Where one member of an object stands in its bytes. */
export interface MemberSlice {
  /** The member's name, unescaped. */
  readonly key: string;
  /** First byte of the name's opening quote. */
  readonly keyStart: number;
  /** First byte of the value. */
  readonly start: number;
  /** One past the value's last byte. */
  readonly end: number;
}

const quote = 0x22;
const backslash = 0x5c;

/**
 * The top-level members of an object, in order, a repeated name as often as it stands there (JSON.parse takes the last).
 * The bytes MUST have been accepted by `parseJson` as an object: this walks them, it does not check them. As Latin-1 text every byte is one
 * character, and the engine walks and searches texts fastest: 1 µs for 1 KB where the bytes take 3.
 */
export function sliceMembers(bytes: Uint8Array): readonly MemberSlice[] {
  const text = latin1Of(bytes);
  const members: MemberSlice[] = [];
  let at = skipSpace(text, 0);
  assert(text.charCodeAt(at) === 0x7b, 'only an object has members');
  at = skipSpace(text, at + 1);
  while (text.charCodeAt(at) !== 0x7d) {
    const keyStart = at;
    const keyEnd = skipString(text, at);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = skipValue(text, start);
    members.push({ key: nameOf(text.slice(keyStart, keyEnd)), keyStart, start, end });
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === 0x2c) at = skipSpace(text, at + 1);
  }
  return members;
}

/** Where one item of an array stands in its bytes. */
export interface ItemSlice {
  readonly start: number;
  /** One past the item's last byte. */
  readonly end: number;
}

/** The items of an array, in order. As with `sliceMembers`, the bytes MUST have been accepted by `parseJson`. */
export function sliceItems(bytes: Uint8Array): readonly ItemSlice[] {
  const text = latin1Of(bytes);
  const items: ItemSlice[] = [];
  let at = skipSpace(text, 0);
  assert(text.charCodeAt(at) === 0x5b, 'only an array has items');
  at = skipSpace(text, at + 1);
  while (text.charCodeAt(at) !== 0x5d) {
    const end = skipValue(text, at);
    items.push({ start: at, end });
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === 0x2c) at = skipSpace(text, at + 1);
  }
  return items;
}

/** Raw line breaks stand only between tokens of valid JSON, so each may become a space (ING-919). Copies only if there is one. */
export function flattenWhitespace(bytes: Uint8Array): Uint8Array {
  if (!bytes.includes(0x0a) && !bytes.includes(0x0d)) return bytes;
  const flat = Uint8Array.from(bytes);
  for (let at = 0; at < flat.length; at += 1) {
    if (flat[at] === 0x0a || flat[at] === 0x0d) flat[at] = 0x20;
  }
  return flat;
}

function latin1Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function skipSpace(text: string, from: number): number {
  let at = from;
  let code = text.charCodeAt(at);
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09)
    code = text.charCodeAt((at += 1));
  return at;
}

/** Characters that a plain loop walks before a search, which costs as much to begin: short names and escaped quotes stay cheap. */
const loopCharacters = 24;

/** One past the closing quote. */
function skipString(text: string, from: number): number {
  let at = from + 1;
  for (;;) {
    for (const stop = at + loopCharacters; at < stop; at += 1) {
      const code = text.charCodeAt(at);
      if (code === quote) return at + 1;
      if (code === backslash) at += 1;
    }
    at = text.indexOf('"', at);
    assert(at > from, 'a string without end: the bytes were not parsed first');
    if (!isEscaped(text, at)) return at + 1;
    at += 1;
  }
}

/** An odd number of backslashes before a quote makes it part of the string. */
function isEscaped(text: string, quoteAt: number): boolean {
  let before = quoteAt - 1;
  while (text.charCodeAt(before) === backslash) before -= 1;
  return (quoteAt - before) % 2 === 0;
}

function skipValue(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (first === quote) return skipString(text, from);
  return first === 0x7b || first === 0x5b ? skipNested(text, from) : skipWord(text, from);
}

function skipNested(text: string, from: number): number {
  let depth = 0;
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    assert(!Number.isNaN(code), 'a value without end: the bytes were not parsed first');
    if (code === quote) at = skipString(text, at) - 1;
    else if (code === 0x7b || code === 0x5b) depth += 1;
    else if (code === 0x7d || code === 0x5d) depth -= 1;
    at += 1;
    if (depth === 0) return at;
  }
}

/** Numbers, true, false, null: up to a comma, a bracket or white space. */
function skipWord(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    // NaN behind the end is no greater either.
    if (!(code > 0x20) || code === 0x2c || code === 0x7d || code === 0x5d) return at;
    at += 1;
  }
}

/** `quoted` is Latin-1; beyond ASCII its bytes are UTF-8. */
function nameOf(quoted: string): string {
  const text = notAscii.test(quoted) ? Buffer.from(quoted, 'latin1').toString('utf8') : quoted;
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
}

const notAscii = /[^\0-\x7f]/;
