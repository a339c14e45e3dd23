import {
  isJsonObject,
  sliceMembers,
  type JsonObject,
  type JsonValue,
  type MemberSlice,
} from '#base';
import type { AcceptedEvent } from './accepted-event.ts';
import {
  checkEventId,
  checkSessionId,
  checkWorkspace,
  eventNameBytesMax,
  sessionOfNone,
} from './check-ids.ts';
import { ownMembers } from './event-members.ts';
import { isTimestamp } from './timestamp.ts';

/** Why a JSON value is no event: the code of ING-918, the reason, and the place as a JSON pointer (RFC 6901). */
export interface EventFault {
  readonly code: 'EVENT_INVALID' | 'SESSION_ID_INVALID';
  readonly message: string;
  readonly pointer: string;
}

export type ParsedEvent =
  | { readonly event: AcceptedEvent; readonly faults?: undefined }
  | { readonly event?: undefined; readonly faults: readonly EventFault[] };

/** What the request says about all its events. */
export interface EventFrame {
  /** Session id of the path `/v1/sessions/{session}/events`. */
  readonly session?: string;
  /** `Idempotency-Key` of a single event. */
  readonly eventId?: string;
}

/**
 * Checks one event of a request (ING-911, ING-111, ING-941, ING-943, ING-944). `value` is what `parseJson` made of `bytes`. Every fault is
 * reported, not the first alone. Members: `event`, `workspace`, `data` with `data.timestamp`; `session_id` here or in `data`; optional
 * `event_id` or the predecessor's `idempotency_key`, with `derived_id: true` where a format made it (D21). `members` are those of `bytes`, for who knows them.
 */
export function parseEvent(
  value: JsonValue,
  bytes: Uint8Array,
  frame: EventFrame = {},
  members?: readonly MemberSlice[],
): ParsedEvent {
  if (!isJsonObject(value)) return { faults: [invalid('', 'an event is a JSON object')] };
  const faults: EventFault[] = [];
  const event = readEventName(value, faults);
  const workspace = readWorkspace(value, faults);
  const data = readData(value, faults);
  const session = readSession(value, data, frame.session, faults);
  const eventId = readEventId(value, frame.eventId, faults);
  if (faults.length > 0) return { faults };
  const spans = memberSpans(bytes, members ?? sliceMembers(bytes));
  return {
    event: {
      workspace,
      session: session === '' ? sessionOfNone(workspace) : session,
      hasSession: session !== '',
      eventId,
      isDerivedId: eventId !== undefined && value['derived_id'] === true,
      event,
      dataBytes: spans.data,
      moreBytes: spans.more,
    },
  };
}

function readEventName(value: JsonObject, faults: EventFault[]): string {
  const { event } = value;
  if (typeof event !== 'string' || event.trim() === '') {
    faults.push(invalid('/event', 'event is missing; name what happened, such as "tool:pre"'));
    return '';
  }
  if (!event.isWellFormed() || hasControl(event)) {
    faults.push(invalid('/event', 'event has a lone surrogate or a control character'));
  } else if (Buffer.byteLength(event) > eventNameBytesMax) {
    faults.push(invalid('/event', `event is longer than ${eventNameBytesMax} bytes`));
  }
  return event;
}

function readWorkspace(value: JsonObject, faults: EventFault[]): string {
  const { workspace } = value;
  if (typeof workspace !== 'string') {
    faults.push(
      invalid('/workspace', 'workspace is missing; name the project that the events belong to'),
    );
    return '';
  }
  pushIdFault('/workspace', checkWorkspace(workspace), faults);
  return workspace;
}

function readData(value: JsonObject, faults: EventFault[]): JsonObject {
  const { data } = value;
  if (!isJsonObject(data)) {
    faults.push(invalid('/data', 'data is missing or not an object'));
    return {};
  }
  const { timestamp } = data;
  if (typeof timestamp !== 'string' || timestamp.trim() === '') {
    faults.push(invalid('/data/timestamp', 'data.timestamp is missing; send ISO 8601 text'));
  } else if (!isTimestamp(timestamp)) {
    const shown = JSON.stringify(timestamp.slice(0, 64));
    faults.push(invalid('/data/timestamp', `data.timestamp ${shown} is not ISO 8601`));
  }
  return data;
}

/** The one session id of the three places, or an empty text without any. */
function readSession(
  value: JsonObject,
  data: JsonObject,
  ofPath: string | undefined,
  faults: EventFault[],
): string {
  const places: readonly (readonly [string, JsonValue | undefined])[] = [
    ['/session_id', value['session_id']],
    ['/data/session_id', data['session_id']],
  ];
  let session = ofPath ?? '';
  for (const [pointer, given] of places) {
    if (given === undefined || given === null || given === '') continue;
    if (typeof given !== 'string') faults.push(invalid(pointer, 'session_id is not a text'));
    else if (session === '') session = given;
    else if (session !== given) {
      faults.push(
        invalid(pointer, 'session_id differs from the one given elsewhere in the request'),
      );
    }
  }
  const place = session === data['session_id'] ? '/data/session_id' : '/session_id';
  if (session !== '') pushIdFault(place, checkSessionId(session), faults);
  return session;
}

function readEventId(
  value: JsonObject,
  ofHeader: string | undefined,
  faults: EventFault[],
): string | undefined {
  let eventId = ofHeader;
  for (const member of ['event_id', 'idempotency_key']) {
    const given = value[member];
    // The existing clients send an empty key where they have none.
    if (given === undefined || given === null || (given === '' && member === 'idempotency_key'))
      continue;
    if (typeof given !== 'string') faults.push(invalid(`/${member}`, `${member} is not a text`));
    else if (eventId === undefined) eventId = given;
    else if (eventId !== given) {
      faults.push(invalid(`/${member}`, `${member} differs from another id of the same event`));
    }
  }
  if (eventId !== undefined) pushIdFault('/event_id', checkEventId(eventId), faults);
  return eventId;
}

/** Bytes of `data`, of a repeated name the last, as JSON.parse takes it; and all that is not ours, as one object. */
function memberSpans(
  bytes: Uint8Array,
  members: readonly MemberSlice[],
): { data: Uint8Array; more: Uint8Array | undefined } {
  let data: Uint8Array = bytes;
  const more: Uint8Array[] = [];
  for (const { key, keyStart, start, end } of members) {
    if (key === 'data') data = bytes.subarray(start, end);
    if (ownMembers.has(key)) continue;
    more.push(Buffer.from(more.length === 0 ? '{' : ','), bytes.subarray(keyStart, end));
  }
  return { data, more: more.length === 0 ? undefined : Buffer.concat([...more, Buffer.from('}')]) };
}

function pushIdFault(pointer: string, message: string | undefined, faults: EventFault[]): void {
  if (message !== undefined) faults.push({ code: 'SESSION_ID_INVALID', message, pointer });
}

function invalid(pointer: string, message: string): EventFault {
  return { code: 'EVENT_INVALID', message, pointer };
}

function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) < 0x20) return true;
  return false;
}
