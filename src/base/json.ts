import { isAscii, isUtf8 } from 'node:buffer';
import { messageOf } from './errors.ts';

/** A number that a double cannot hold as it was written; `JSON.stringify` writes its text back (`JSON.rawJSON`). */
export interface RawNumber {
  readonly rawJSON: string;
}

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** A raw number is, to the types, an object with one member; `isRawNumber` tells it from a client's own. */
export interface JsonObject {
  readonly [member: string]: JsonValue;
}

/** Why bytes are not JSON. Not a registered code: the room that asked names its own. */
export class JsonInvalid extends Error {
  constructor(reason: string, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.name = 'JsonInvalid';
  }
}

export interface ParseLimits {
  /** Deepest allowed nesting of arrays and objects; a flat object has depth 1. */
  readonly depthMax?: number;
}

interface RawJsonApi {
  rawJSON(text: string): JsonObject;
  isRawJSON(value: unknown): boolean;
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): JsonValue;
}

/** Node 24 has these three; the compiler's library does not know them yet. */
const rawJson = JSON as unknown as RawJsonApi;

export function isRawNumber(value: unknown): value is JsonObject & RawNumber {
  return rawJson.isRawJSON(value);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value)
  );
}

/**
 * Parses strict JSON without loss: a number that a double would round keeps its text as a raw number (D30).
 * Throws JsonInvalid for bytes that are not UTF-8, for a byte order mark, bad syntax and nesting above `depthMax`.
 */
export function parseJson(source: string | Uint8Array, limits?: ParseLimits): JsonValue {
  const text = typeof source === 'string' ? source : decodeUtf8(source);
  const depthMax = limits?.depthMax;
  if (depthMax !== undefined && mayNestDeeper(text, depthMax) && nestingOf(text) > depthMax)
    throw new JsonInvalid(`it nests deeper than ${depthMax} levels`);
  try {
    return mayRound(text) ? rawJson.parse(text, keepNumberText) : (JSON.parse(text) as JsonValue);
  } catch (error) {
    throw new JsonInvalid(messageOf(error), error);
  }
}

/** Throws JsonInvalid where the bytes are not UTF-8; nothing is ever replaced. */
export function decodeUtf8(bytes: Uint8Array): string {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isAscii(view)) return view.toString('latin1');
  if (!isUtf8(view)) throw new JsonInvalid('it is not valid UTF-8');
  return view.toString('utf8');
}

export function stringifyJson(value: JsonValue): string {
  return JSON.stringify(value);
}

/** Counts brackets, also those in strings: a cheap upper bound, so that the exact scan is rare. */
function mayNestDeeper(text: string, depthMax: number): boolean {
  let count = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      count += 1;
      if (count > depthMax) return true;
    }
  }
  return false;
}

function nestingOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) isInString = false;
    } else if (code === 0x22) isInString = true;
    else if (code === 0x5b || code === 0x7b) deepest = Math.max(deepest, (depth += 1));
    else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return deepest;
}

/**
 * Fifteen digits always survive a double; so only a long run of digits or a three-digit exponent may not.
 * Written out sixteen times, because the engine then skips through the text: 0.14 µs per KB against 1.2 for `{16}`.
 */
const longDigits = new RegExp('[0-9.]'.repeat(16));
const longExponent = /[0-9][eE][+-]?[0-9]{3}/;
/** The same where a number can begin, since hashes and ids in strings look alike. */
const roundable = /(?:^|[\s:,[])-?[0-9](?:[0-9.]{15}|[0-9.]*[eE][+-]?[0-9]{3})/;

function mayRound(text: string): boolean {
  return (longDigits.test(text) || longExponent.test(text)) && roundable.test(text);
}

function keepNumberText(_key: string, value: unknown, context: { source?: string }): unknown {
  if (typeof value !== 'number' || context.source === undefined) return value;
  return isExact(value, context.source) ? value : rawJson.rawJSON(context.source);
}

function isExact(value: number, text: string): boolean {
  const written = String(value);
  if (written === text || text === '-0') return true;
  return text.length >= 16 && /^-?[0-9]+$/.test(text) ? false : sameDecimal(written, text);
}

/** Whether two JSON numbers name the same decimal, however they write it: 1.50 and 15e-1. */
function sameDecimal(a: string, b: string): boolean {
  const [digitsA, exponentA] = decimalOf(a);
  const [digitsB, exponentB] = decimalOf(b);
  return digitsA === digitsB && exponentA === exponentB;
}

/** Significant digits with sign, and the power of ten of the last one. */
function decimalOf(text: string): readonly [string, number] {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null) return [text, 0];
  const fraction = match[3] ?? '';
  const digits = ((match[2] ?? '') + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return ['0', 0];
  const exponent = Number(match[4] ?? 0) - fraction.length + digits.length - significant.length;
  return [(match[1] ?? '') + significant, exponent];
}
