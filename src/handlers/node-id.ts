import { createHash } from 'node:crypto';
import { escapeColons, type Timestamp } from '#record';

/** Longest node id in UTF-8 bytes; a longer one keeps its first 900 and ends in `~` and its SHA-256 (ING-611). */
const nodeIdBytesMax = 1024;
const keptBytes = 900;
/** UTF-8 bytes of a UTF-16 unit. */
const bytesPerUnitMax = 3;
/** Longest text that keys a map of the cursor as it is. */
const mapKeyLengthMax = 128;

/**
 * Id of the node of one event (D21): the predecessor's prefix, then the event's own id, or `@` and the count of applied events. Never a
 * position: that differs between backends and shifts with a dead record.
 */
export function eventNodeId(
  sessionNode: string,
  event: string,
  at: Timestamp,
  ending: { readonly id: string | undefined; readonly seq: number },
): string {
  const prefix = `${sessionNode}__${eventPart(event)}__${at.epochMs}`;
  return boundedNodeId(
    `${prefix}__${ending.id === undefined ? `@${ending.seq}` : idPart(ending.id)}`,
  );
}

/**
 * So written that an id can be taken apart in one way only (ING-615): the first `__` with a whole number and `__` behind it parts off the time, the
 * last `__` before that the event. Plain for ordinary names.
 */
function eventPart(event: string): string {
  const name = event.replaceAll(':', '_');
  if (/^-?\d+$/.test(name)) return `:%${name}`;
  return name.replace(/^_|_(?=_)|_$/g, ':%5F');
}

/** A client's id has no `::`, and does not look like the count of an event that has none. */
function idPart(id: string): string {
  const text = escapeColons(id);
  return text.startsWith('@') ? `:%40${text.slice(1)}` : text;
}

/** Id of a node that a session owns: `{session}::{kind}::{rest}`. */
export function ownedNodeId(sessionNode: string, kind: string, ...rest: readonly string[]): string {
  return boundedNodeId([sessionNode, kind, ...rest].join('::'));
}

/** Well-formed, without control characters, at most 1024 bytes. */
export function boundedNodeId(id: string): string {
  const text = plainText(id).replace(/\p{Cc}/gu, percent);
  if (text.length * bytesPerUnitMax <= nodeIdBytesMax) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= nodeIdBytesMax) return text;
  let end = keptBytes;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${bytes.toString('utf8', 0, end)}~${createHash('sha256').update(bytes).digest('hex')}`;
}

/** Text that every store can hold: a lone surrogate becomes the six characters of its escape. */
export function plainText(text: string): string {
  if (text.isWellFormed()) return text;
  return text.replace(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);
}

/** A client's id as a key of a cursor's map: bounded, so that a cursor is. */
export function mapKey(text: string): string {
  if (text.length <= mapKeyLengthMax) return text;
  return `~${createHash('sha256').update(text, 'utf16le').digest('hex')}`;
}

/** A time as the client wrote it, where it stands in ids; one with a senseless number of digits in its exact form. */
export function timeText(raw: string, at: Timestamp): string {
  return raw.length <= 64 ? raw : at.canonical;
}

function percent(control: string): string {
  return `%${control.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
