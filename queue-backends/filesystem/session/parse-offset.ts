import { canonicalJson, crc32cHex, type JsonValue } from '#base';
import { parseCursor } from '#record';
import type { CountedFrame } from './key-state.ts';
import type { OffsetRecord } from './offset-record.ts';

/** What the bytes of an offset record say; never anything that nobody wrote (ING-213…218, ING-P03). Offsets are bytes. */
export type ParsedOffset =
  /** Version 2, or a newer one that this program may read; unknown members are kept. */
  | { readonly kind: 'native'; readonly record: OffsetRecord }
  /** Version 0, a bare integer, or 1, an object with `offset`: what the predecessor wrote. The cursor stands as it was found; null without one. */
  | {
      readonly kind: 'legacy';
      readonly version: 0 | 1;
      readonly offset: number;
      readonly cursor: unknown;
    }
  | { readonly kind: 'unsupported'; readonly minReader: number }
  | { readonly kind: 'corrupt'; readonly reason: string; readonly cause?: unknown };

/** Newest record whose readers we are. */
const readerVersion = 2;
// A byte order mark is a byte that nobody wrote.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** `JSON.parse`, `Number` and `parseInt` would take `""`, `12abc` and `1e3` too (ING-215). */
const integerPattern = /^[ \t\r\n]*([0-9]{1,16})[ \t\r\n]*$/;

/** Reads an offset record of any version. Pure; an empty file is damage and no offset 0 (ING-216). */
export function parseOffset(bytes: Uint8Array): ParsedOffset {
  if (bytes.length === 0) return corrupt('the file is empty');
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (error) {
    return corrupt('it is not UTF-8', error);
  }
  const [, digits] = integerPattern.exec(text) ?? [];
  if (digits !== undefined) return legacyOf(0, Number(digits), null);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return corrupt('it is not JSON', error);
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    return corrupt('it is neither a whole number nor a JSON object');
  return objectOf(value as Record<string, unknown>);
}

function objectOf(value: Record<string, unknown>): ParsedOffset {
  const { v, min_reader: minReader, crc } = value;
  if (isCount(minReader) && minReader > readerVersion) return { kind: 'unsupported', minReader };
  const isLegacy = (v === undefined || v === 1) && minReader === undefined && crc === undefined;
  return isLegacy ? legacyOf(1, value['offset'], value['cursor'] ?? null) : nativeOf(value);
}

function legacyOf(version: 0 | 1, offset: unknown, cursor: unknown): ParsedOffset {
  if (!isCount(offset)) return corrupt('its offset is no whole number up to 2^53 - 1');
  return { kind: 'legacy', version, offset, cursor };
}

const countMembers = [
  'ordinal',
  'gen',
  'base',
  'offset',
  'log_end',
  'log_records',
  'committed_records',
  'seq',
  'tenure',
];
const textMembers = ['workspace', 'session_id', 'epoch'];

function nativeOf({ crc, ...record }: Record<string, unknown>): ParsedOffset {
  const expected = crc32cHex(Buffer.from(canonicalJson(record as unknown as JsonValue), 'utf8'));
  if (crc !== expected)
    return corrupt(`its checksum is ${String(crc)}, its content has ${expected}`);
  const bad =
    countMembers.find((name) => !isCount(record[name])) ??
    textMembers.find((name) => typeof record[name] !== 'string');
  if (bad !== undefined) return corrupt(`its member ${bad} is wrong`);
  const frame = record['frame'] as Partial<CountedFrame> | null | undefined;
  if (!isCount(frame?.sequence) || !isCount(frame.tenure))
    return corrupt('its member frame is wrong');
  const cursor = record['cursor'];
  const fault = cursor === null ? undefined : parseCursor(cursor).fault;
  if (fault !== undefined) return corrupt(`its cursor cannot be built: ${fault}`);
  return { kind: 'native', record: record as unknown as OffsetRecord };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function corrupt(reason: string, cause?: unknown): ParsedOffset {
  return { kind: 'corrupt', reason, ...(cause === undefined ? {} : { cause }) };
}
