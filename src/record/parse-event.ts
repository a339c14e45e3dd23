import { isJsonObject, type JsonValue } from '#base';
import type { AcceptedEvent } from './accepted-event.ts';
import {
  checkEventId,
  checkSessionId,
  checkWorkspace,
  eventNameBytesMax,
  isPlainId,
  sessionOfNone,
} from './check-ids.ts';
import { eventMembers, type EventMembers } from './event-members.ts';
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
 * `event_id` or the predecessor's `idempotency_key`, with `derived_id: true` where a format made it (D21).
 */
export function parseEvent(
  value: JsonValue,
  bytes: Uint8Array,
  frame: EventFrame = {},
): ParsedEvent {
  if (!isJsonObject(value)) return { faults: [invalid('', 'an event is a JSON object')] };
  const faults: EventFault[] = [];
  const event = acceptMembers(eventMembers(value, bytes), frame, faults);
  return event === undefined ? { faults } : { event };
}

/** The event of these members; undefined when it has faults, all of which are then among `faults`. */
export function acceptMembers(
  members: EventMembers,
  frame: EventFrame,
  faults: EventFault[],
): AcceptedEvent | undefined {
  const event = readEventName(members, faults);
  const workspace = readWorkspace(members, faults);
  checkTimestamp(members, faults);
  const session = readSession(members, frame.session, faults);
  const eventId = readEventId(members, frame.eventId, faults);
  if (faults.length > 0) return undefined;
  return {
    workspace,
    session: session === '' ? sessionOfNone(workspace) : session,
    hasSession: session !== '',
    eventId,
    isDerivedId: eventId !== undefined && members.derivedId === true,
    event,
    dataBytes: members.dataBytes,
    moreBytes: members.moreBytes,
  };
}

function readEventName({ event }: EventMembers, faults: EventFault[]): string {
  if (typeof event === 'string' && isPlainId(event)) return event;
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

function readWorkspace({ workspace }: EventMembers, faults: EventFault[]): string {
  if (typeof workspace !== 'string') {
    faults.push(
      invalid('/workspace', 'workspace is missing; name the project that the events belong to'),
    );
    return '';
  }
  pushIdFault('/workspace', checkWorkspace(workspace), faults);
  return workspace;
}

function checkTimestamp({ hasData, timestamp }: EventMembers, faults: EventFault[]): void {
  if (!hasData) {
    faults.push(invalid('/data', 'data is missing or not an object'));
  } else if (typeof timestamp !== 'string' || timestamp.trim() === '') {
    faults.push(invalid('/data/timestamp', 'data.timestamp is missing; send ISO 8601 text'));
  } else if (!isTimestamp(timestamp)) {
    const shown = JSON.stringify(timestamp.slice(0, 64));
    faults.push(invalid('/data/timestamp', `data.timestamp ${shown} is not ISO 8601`));
  }
}

/** The one session id of the three places, or an empty text without any. */
function readSession(
  { sessionId, dataSessionId }: EventMembers,
  ofPath: string | undefined,
  faults: EventFault[],
): string {
  const above = sameSession('/session_id', sessionId, ofPath ?? '', faults);
  const session = sameSession('/data/session_id', dataSessionId, above, faults);
  const place = session === dataSessionId ? '/data/session_id' : '/session_id';
  if (session !== '') pushIdFault(place, checkSessionId(session), faults);
  return session;
}

function sameSession(
  pointer: string,
  given: JsonValue | undefined,
  known: string,
  faults: EventFault[],
): string {
  if (given === undefined || given === null || given === '' || given === known) return known;
  if (typeof given !== 'string') faults.push(invalid(pointer, 'session_id is not a text'));
  else if (known === '') return given;
  else
    faults.push(invalid(pointer, 'session_id differs from the one given elsewhere in the request'));
  return known;
}

function readEventId(
  { eventId, idempotencyKey }: EventMembers,
  ofHeader: string | undefined,
  faults: EventFault[],
): string | undefined {
  const above = sameId('event_id', eventId, ofHeader, faults);
  // The existing clients send an empty key where they have none.
  const given = idempotencyKey === '' ? undefined : idempotencyKey;
  const id = sameId('idempotency_key', given, above, faults);
  if (id !== undefined) pushIdFault('/event_id', checkEventId(id), faults);
  return id;
}

function sameId(
  member: 'event_id' | 'idempotency_key',
  given: JsonValue | undefined,
  known: string | undefined,
  faults: EventFault[],
): string | undefined {
  if (given === undefined || given === null || given === known) return known;
  if (typeof given !== 'string') faults.push(invalid(`/${member}`, `${member} is not a text`));
  else if (known === undefined) return given;
  else faults.push(invalid(`/${member}`, `${member} differs from another id of the same event`));
  return known;
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
