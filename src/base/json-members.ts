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
 * The bytes MUST have been accepted by `parseJson` as an object: this walks them, it does not check them.
 */
export function sliceMembers(bytes: Uint8Array): readonly MemberSlice[] {
  const members: MemberSlice[] = [];
  let at = skipSpace(bytes, 0);
  assert(bytes[at] === 0x7b, 'only an object has members');
  at = skipSpace(bytes, at + 1);
  while (bytes[at] !== 0x7d) {
    const keyStart = at;
    const keyEnd = skipString(bytes, at);
    const start = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const end = skipValue(bytes, start);
    members.push({ key: nameOf(bytes, keyStart, keyEnd), keyStart, start, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === 0x2c) at = skipSpace(bytes, at + 1);
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
  const items: ItemSlice[] = [];
  let at = skipSpace(bytes, 0);
  assert(bytes[at] === 0x5b, 'only an array has items');
  at = skipSpace(bytes, at + 1);
  while (bytes[at] !== 0x5d) {
    const end = skipValue(bytes, at);
    items.push({ start: at, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === 0x2c) at = skipSpace(bytes, at + 1);
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

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  let byte = bytes[at];
  while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[(at += 1)];
  return at;
}

/** Bytes that a plain loop walks before a native search, which costs as much to call: short names and escaped quotes stay cheap. */
const loopBytes = 256;

/** One past the closing quote. */
function skipString(bytes: Uint8Array, from: number): number {
  let at = from + 1;
  for (;;) {
    for (const stop = at + loopBytes; at < stop; at += 1) {
      const byte = bytes[at];
      if (byte === quote) return at + 1;
      if (byte === backslash) at += 1;
    }
    at = bytes.indexOf(quote, at);
    assert(at > from, 'a string without end: the bytes were not parsed first');
    if (!isEscaped(bytes, at)) return at + 1;
    at += 1;
  }
}

/** An odd number of backslashes before a quote makes it part of the string. */
function isEscaped(bytes: Uint8Array, quoteAt: number): boolean {
  let before = quoteAt - 1;
  while (bytes[before] === backslash) before -= 1;
  return (quoteAt - before) % 2 === 0;
}

function skipValue(bytes: Uint8Array, from: number): number {
  const first = bytes[from];
  if (first === quote) return skipString(bytes, from);
  return first === 0x7b || first === 0x5b ? skipNested(bytes, from) : skipWord(bytes, from);
}

function skipNested(bytes: Uint8Array, from: number): number {
  let depth = 0;
  let at = from;
  for (;;) {
    const byte = bytes[at];
    assert(byte !== undefined, 'a value without end: the bytes were not parsed first');
    if (byte === quote) at = skipString(bytes, at) - 1;
    else if (byte === 0x7b || byte === 0x5b) depth += 1;
    else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    at += 1;
    if (depth === 0) return at;
  }
}

/** Numbers, true, false, null: up to a comma, a bracket or white space. */
function skipWord(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at];
    if (byte === undefined || byte === 0x2c || byte === 0x7d || byte === 0x5d || byte <= 0x20)
      return at;
    at += 1;
  }
}

function nameOf(bytes: Uint8Array, start: number, end: number): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
}
