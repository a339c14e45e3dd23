import { assert } from './assert.ts';
import {
  backslash,
  escapeEnd,
  hasStop,
  none,
  numberEnd,
  quote,
  space,
  wereAscii,
} from './json-tokens.ts';

/** Bytes to look through, with the view by which four of them are read at once; made once for all records of a body. */
export interface ScanSource {
  readonly bytes: Buffer;
  readonly view: DataView;
}

export function scanSource(given: Uint8Array): ScanSource {
  const { buffer, byteOffset, byteLength } = given;
  return {
    bytes: Buffer.isBuffer(given) ? given : Buffer.from(buffer, byteOffset, byteLength),
    view: new DataView(buffer, byteOffset, byteLength),
  };
}

/** Names of the members that a scan tells of. All are ASCII, and need no escape. */
export interface WantedNames {
  /** Of the object itself. */
  readonly outer: readonly string[];
  /** One of them, which must be an object. */
  readonly inside: string;
  /** Of that object. */
  readonly inner: readonly string[];
}

/** Numbers kept of a wanted member: first byte of its value, one past the last, and whether an escape or a byte beyond ASCII may be in it. */
const numbersPerPlace = 3;

/** Room for members that nobody asked for which is kept from one object to the next. */
const othersKeptMax = 1024;

const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

const nothing: ScanSource = scanSource(Buffer.alloc(0));

type Level = 'outer' | 'inner' | 'deep';

/**
 * Checks that bytes are one JSON object (RFC 8259) and finds its members, in one pass that makes no value, no text and no object: `JSON.parse` makes all of them,
 * and a second pass would look for where they stand. Whether the bytes are UTF-8 is for the caller to ask, unless `isAscii` says that they are. Refuses all that
 * `parseJson` refuses, and some that it takes: line breaks and tabs between tokens, names with escapes at the two levels that are told, and an `inside` that is no
 * object. What this takes, `parseJson` takes too (D10); a test compares them on recorded, random and damaged texts.
 *
 * One scan is used again and again: what it tells counts until its next `run`.
 */
export class ObjectScan {
  readonly #outer: NameTable;
  readonly #inner: NameTable;
  readonly #insideSlot: number;
  readonly #innerFirst: number;
  readonly #places: Int32Array;
  #source: ScanSource = nothing;
  #bytes: Buffer = nothing.bytes;
  /** Escapes seen so far, in names and texts. */
  #escapes = 0;
  /** All bytes of texts, or-ed. */
  #seen = 0;
  #hasInside = false;
  /** Of each member that nobody asked for: first byte of its name's quote, one past its value. */
  #others: number[] = [];
  #othersLength = 0;

  constructor({ outer, inside, inner }: WantedNames) {
    this.#outer = new NameTable(outer, 0);
    this.#inner = new NameTable(inner, outer.length);
    this.#insideSlot = outer.indexOf(inside);
    assert(this.#insideSlot >= 0, 'what is looked into is one of the members');
    this.#innerFirst = outer.length;
    this.#places = new Int32Array((outer.length + inner.length) * numbersPerPlace);
  }

  /** Whether the bytes from `start` up to `end` are such an object. */
  run(source: ScanSource, start: number, end: number, depthMax: number): boolean {
    this.#source = source;
    this.#bytes = source.bytes;
    this.#escapes = 0;
    this.#seen = 0;
    this.#hasInside = false;
    this.#othersLength = 0;
    if (this.#others.length > othersKeptMax) this.#others = [];
    this.#places.fill(none);
    // An object ends where it ends: one that goes on behind `end` is refused, because it does not end there.
    const closed = this.#members(this.#skipSpace(start), depthMax, 'outer');
    const isSound = closed !== none && this.#hasInside && this.#spaceUpTo(closed, end);
    // A body may be large, and the next one may be long in coming.
    this.#source = nothing;
    this.#bytes = nothing.bytes;
    return isSound;
  }

  /** All texts of the object are ASCII; so is the rest, or it would be no JSON. */
  get isAscii(): boolean {
    return wereAscii(this.#seen);
  }

  /** First byte of the value of a wanted member, of a repeated name the last; negative when there is none. Slots are those of `outer`, then those of `inner`. */
  start(slot: number): number {
    return this.#places[slot * numbersPerPlace] ?? none;
  }

  /** One past the value's last byte. */
  end(slot: number): number {
    return this.#places[slot * numbersPerPlace + 1] ?? none;
  }

  /** The value has no escape. */
  isUnescaped(slot: number): boolean {
    return this.#places[slot * numbersPerPlace + 2] === 0;
  }

  /** How many numbers `other` tells: two for each member of the object itself that nobody asked for, in order. */
  get othersLength(): number {
    return this.#othersLength;
  }

  /** At an even place the first byte of a name's quote, behind it one past the member's value. */
  other(at: number): number {
    return this.#others[at] ?? none;
  }

  #value(at: number, depthLeft: number): number {
    switch (this.#bytes[at]) {
      case quote:
        return this.#string(at);
      case openBrace:
        return this.#members(at, depthLeft, 'deep');
      case openBracket:
        return this.#items(at, depthLeft);
      case 0x74: // t
        return this.#word(at, 0x72, 0x75, 0x65);
      case 0x66: // f
        return this.#bytes[at + 1] === 0x61 ? this.#word(at + 1, 0x6c, 0x73, 0x65) : none;
      case 0x6e: // n
        return this.#word(at, 0x75, 0x6c, 0x6c);
      default:
        return numberEnd(this.#bytes, at);
    }
  }

  /** The three letters behind one that was looked at. */
  #word(at: number, second: number, third: number, fourth: number): number {
    const bytes = this.#bytes;
    return bytes[at + 1] === second && bytes[at + 2] === third && bytes[at + 3] === fourth
      ? at + 4
      : none;
  }

  /** Takes no name with an escape, but in what is `deep`. */
  #members(from: number, depthLeft: number, level: Level): number {
    const bytes = this.#bytes;
    if (depthLeft < 1 || bytes[from] !== openBrace) return none;
    let at = this.#skipSpace(from + 1);
    if (bytes[at] === closeBrace) return at + 1;
    for (;;) {
      const escapes = this.#escapes;
      const keyEnd = bytes[at] === quote ? this.#string(at) : none;
      if (keyEnd === none || (level !== 'deep' && this.#escapes !== escapes)) return none;
      const start = this.#valueStart(keyEnd);
      if (start === none) return none;
      const end =
        level === 'deep'
          ? this.#value(start, depthLeft - 1)
          : this.#told(level, at, keyEnd, start, depthLeft - 1);
      if (end === none) return none;
      at = this.#skipSpace(end);
      const code = bytes[at];
      if (code === closeBrace) return at + 1;
      if (code !== comma) return none;
      at = this.#skipSpace(at + 1);
    }
  }

  /** Reads the value of a member of the two upper levels, and notes where it stands. */
  #told(
    level: 'outer' | 'inner',
    keyStart: number,
    keyEnd: number,
    start: number,
    depthLeft: number,
  ): number {
    const names = level === 'outer' ? this.#outer : this.#inner;
    const slot = names.slotOf(this.#bytes, keyStart + 1, keyEnd - 1);
    const escapes = this.#escapes;
    const end =
      slot === this.#insideSlot ? this.#inside(start, depthLeft) : this.#value(start, depthLeft);
    if (slot !== none) {
      const place = slot * numbersPerPlace;
      this.#places[place] = start;
      this.#places[place + 1] = end;
      this.#places[place + 2] = this.#escapes - escapes;
    } else if (level === 'outer') {
      this.#others[this.#othersLength++] = keyStart;
      this.#others[this.#othersLength++] = end;
    }
    return end;
  }

  /** Forgets what it has found in one that stood before. */
  #inside(start: number, depthLeft: number): number {
    this.#places.fill(none, this.#innerFirst * numbersPerPlace);
    this.#hasInside = this.#bytes[start] === openBrace;
    return this.#hasInside
      ? this.#members(start, depthLeft, 'inner')
      : this.#value(start, depthLeft);
  }

  #items(from: number, depthLeft: number): number {
    const bytes = this.#bytes;
    if (depthLeft < 1) return none;
    let at = this.#skipSpace(from + 1);
    if (bytes[at] === closeBracket) return at + 1;
    for (;;) {
      const end = this.#value(at, depthLeft - 1);
      if (end === none) return none;
      at = this.#skipSpace(end);
      const code = bytes[at];
      if (code === closeBracket) return at + 1;
      if (code !== comma) return none;
      at = this.#skipSpace(at + 1);
    }
  }

  #valueStart(keyEnd: number): number {
    const at = this.#skipSpace(keyEnd);
    return this.#bytes[at] === colon ? this.#skipSpace(at + 1) : none;
  }

  /** From the opening quote to behind the closing one. */
  #string(from: number): number {
    let at = from + 1;
    for (;;) {
      at = this.#stopAt(at);
      const code = this.#bytes[at];
      if (code === quote) return at + 1;
      // A control character, or the end.
      if (code !== backslash) return none;
      at = escapeEnd(this.#bytes, at + 1);
      if (at === none) return none;
      this.#escapes += 1;
    }
  }

  /** The next quote, backslash or control character of a string, or the end of all bytes. */
  #stopAt(from: number): number {
    const { view } = this.#source;
    const bytes = this.#bytes;
    const lastWord = bytes.length - 4;
    let seen = 0;
    let at = from;
    for (; at <= lastWord; at += 4) {
      const word = view.getInt32(at, true);
      if (hasStop(word)) break;
      seen |= word;
    }
    for (; at < bytes.length; at += 1) {
      const code = bytes[at] as number;
      if (code === quote || code === backslash || code < space) break;
      seen |= code;
    }
    this.#seen |= seen;
    return at;
  }

  #skipSpace(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    while (bytes[at] === space) at += 1;
    return at;
  }

  #spaceUpTo(from: number, end: number): boolean {
    let at = from;
    while (at < end && this.#bytes[at] === space) at += 1;
    return at === end;
  }
}

/** Finds the slot of a name by its bytes, of which most differ from all known ones in their number. */
class NameTable {
  readonly #byLength: readonly (readonly Named[] | undefined)[];

  constructor(names: readonly string[], firstSlot: number) {
    const byLength: Named[][] = [];
    for (const [at, name] of names.entries())
      (byLength[name.length] ??= []).push({ bytes: Buffer.from(name), slot: firstSlot + at });
    this.#byLength = Array.from(byLength);
  }

  slotOf(bytes: Buffer, start: number, end: number): number {
    const length = end - start;
    const named = length < this.#byLength.length ? this.#byLength[length] : undefined;
    if (named === undefined) return none;
    for (const { bytes: name, slot } of named) if (standsAt(name, bytes, start)) return slot;
    return none;
  }
}

interface Named {
  readonly bytes: Buffer;
  readonly slot: number;
}

function standsAt(name: Buffer, bytes: Buffer, start: number): boolean {
  for (let at = 0; at < name.length; at += 1) if (name[at] !== bytes[start + at]) return false;
  return true;
}
