import { forbidden, mayUseWorkspace, type Principal } from '#access';
import {
  decodeUtf8,
  formatBytes,
  JsonInvalid,
  parseJson,
  type JsonValue,
  type ScanSource,
} from '#base';
import { recordFraming } from '#queue';
import { parseEvent, scanEvent, type AcceptedEvent, type EventFrame } from '#record';
import { eventInvalid, recordNotJson, recordTooLarge } from './errors.ts';
import type { Reject } from './ingest.ts';
import { locateJsonFault } from './locate-json-fault.ts';

/**
 * Deepest nesting of an event. Recorded sessions stay below 20; readers of the log and SQLite's own JSON functions (1000) walk values with
 * recursion, and a record that they cannot walk must not get in.
 */
export const depthMax = 512;

/** What holds for all records of a request. */
export interface RecordRules {
  readonly principal: Principal;
  readonly eventBytesMax: number;
  readonly depthMax: number;
  readonly frame: EventFrame;
}

/** Where a record stands in its request. */
export interface Place {
  readonly index: number;
  /** Of the body, from 1. */
  readonly line: number;
}

export type Parsed =
  | { readonly value: JsonValue; readonly fault?: undefined }
  | { readonly value?: undefined; readonly fault: Omit<Reject, 'index' | 'line'> };

export type Checked =
  | { readonly event: AcceptedEvent; readonly place: Place; readonly reject?: undefined }
  | { readonly event?: undefined; readonly reject: Reject };

/** Complete, valid JSON or the place and the reason (D10, ING-918). */
export function parseDocument(bytes: Uint8Array): Parsed {
  try {
    return { value: parseJson(bytes, { depthMax }) };
  } catch (error) {
    if (error instanceof JsonInvalid) return { fault: explain(bytes, error) };
    throw error;
  }
}

/** A record that passes and is plain, as nearly all are; undefined for any other, which is then parsed to tell what it is. */
export function checkPlain(
  source: ScanSource,
  start: number,
  end: number,
  rules: RecordRules,
): AcceptedEvent | undefined {
  if (end - start > rules.eventBytesMax) return undefined;
  const event = scanEvent(source, start, end, rules);
  return event !== undefined && mayUseWorkspace(rules.principal, event.workspace)
    ? event
    : undefined;
}

/** Checks one record whose bytes are `value`. */
export function checkEvent(
  value: JsonValue,
  bytes: Uint8Array,
  rules: RecordRules,
  place: Place,
): Checked {
  const large = checkSize(bytes, rules, place);
  if (large !== undefined) return { reject: large };
  const { event, faults } = parseEvent(value, bytes, rules.frame);
  if (event === undefined) {
    const message = faults.map((fault) => fault.message).join('; ');
    const [first] = faults;
    const { code, pointer } = first ?? { code: eventInvalid.code, pointer: '' };
    return { reject: { ...place, code, message, pointer } };
  }
  if (mayUseWorkspace(rules.principal, event.workspace)) return { event, place };
  const message = `the token "${rules.principal.name}" may not write to the workspace ${JSON.stringify(event.workspace)}`;
  return { reject: { ...place, code: forbidden.code, message, pointer: '/workspace' } };
}

/** Before any work is done on its bytes. */
export function checkSize(
  bytes: Uint8Array,
  { eventBytesMax }: RecordRules,
  place: Place,
): Reject | undefined {
  if (bytes.byteLength <= eventBytesMax) return undefined;
  const message = `the event has ${bytes.byteLength} bytes; ingest.max_event_bytes is ${formatBytes(eventBytesMax)}`;
  return { ...place, code: recordTooLarge.code, message };
}

function explain(bytes: Uint8Array, error: JsonInvalid): Omit<Reject, 'index' | 'line'> {
  const text = decoded(bytes);
  if (text === undefined)
    return { code: recordNotJson.code, message: 'the bytes are not valid UTF-8' };
  if (text.trim() === '') return { code: recordNotJson.code, message: 'the body is empty' };
  const fault = locateJsonFault(text);
  // It is JSON, and yet it was refused: it nests too deep.
  if (fault === undefined) return { code: eventInvalid.code, message: error.message, pointer: '' };
  const message = `${fault.reason} (${placeOf(text, fault.at)})`;
  return fault.isTrailing
    ? {
        code: recordFraming.code,
        message: `${message}: send several events as application/x-ndjson, one on each line, or as a JSON array`,
      }
    : { code: recordNotJson.code, message: `this is not JSON: ${message}` };
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return decodeUtf8(bytes);
  } catch (error) {
    if (error instanceof JsonInvalid) return undefined;
    throw error;
  }
}

/** Line and column from 1, in characters; of a record on one line the column alone. */
function placeOf(text: string, at: number): string {
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  const column = at - before.lastIndexOf('\n');
  return text.includes('\n') ? `line ${line}, column ${column}` : `column ${column}`;
}
