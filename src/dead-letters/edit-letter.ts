import { createHash } from 'node:crypto';
import { isJsonObject, JsonInvalid, parseJson, type JsonObject } from '#base';
import type { AppendInput } from '#queue';
import {
  buildLine,
  parseEvent,
  parseLine,
  sessionOfNone,
  type AcceptedEvent,
  type LogRecord,
} from '#record';
import type { Letter } from './dead-letters.ts';
import { editRefused } from './errors.ts';
import { startOf } from './plan-requeue.ts';

export interface EditOrder {
  /** The event as JSON text, as a client would post it: `event` and `data`, what else it had; ids that it names must be those of the letter. */
  readonly event: string;
  /** Also into the present epoch of its session (ING-715). */
  readonly intoCurrent?: boolean;
}

/** The deepest nesting that admission takes. */
const depthMax = 512;

/** A letter's event as a client would post it, to be edited; undefined when its bytes are no event. */
export function eventTextOf(letter: Letter): string | undefined {
  const { record } = parseLine(letter.payload, letter.key);
  if (record === undefined) return undefined;
  const { workspace, session, event, id, data, more } = record;
  const event_id = id === undefined ? {} : { event_id: id };
  return JSON.stringify({
    event,
    workspace,
    ...sessionMember(workspace, session),
    ...event_id,
    ...more,
    data,
  });
}

/**
 * The append of an edited letter (ING-714): its new payload under an id of its own, which says what it was made of; the record keeps the id of the
 * original event for its node, its accept time and its sender. What `redact` takes out of events stays out. Throws EDIT_REFUSED.
 */
export function planEdit(
  letter: Letter,
  { event: text }: EditOrder,
  redact: (event: AcceptedEvent) => AcceptedEvent = (event) => event,
): AppendInput {
  const { key, workspace, session, id, epoch } = letter;
  const { record } = parseLine(letter.payload, key);
  const bytes = Buffer.from(JSON.stringify(withIds(readObject(id, text), letter, record)));
  const { event, faults } = parseEvent(parseJson(bytes), bytes);
  if (event === undefined)
    throw editRefused({ id, reason: faults.map(({ message }) => message).join('; ') });
  const fault = foreignName(event, letter, record);
  if (fault !== undefined) throw editRefused({ id, reason: fault });
  const raw = buildLine(
    { ...redact(event), eventId: record?.id, isDerivedId: record?.isDerivedId === true },
    { acceptedAt: record?.acceptedAt ?? letter.ts, by: record?.by ?? null },
  );
  const digest = createHash('sha256').update(raw).digest('hex');
  return {
    key,
    workspace,
    session,
    raw,
    eventId: `requeue:${epoch}.${startOf(id)}:${digest}`,
    principal: record?.by ?? '',
    mayWriteForeign: true,
    settles: id,
  };
}

/** An edit mends what an event says, not whose it is: position, owner and node of the record hang on that. */
function foreignName(
  { workspace, session, eventId }: AcceptedEvent,
  letter: Letter,
  record: LogRecord | undefined,
): string | undefined {
  if (workspace !== letter.workspace) return `its workspace is ${letter.workspace} and stays so`;
  if (session !== letter.session) return `its session is ${letter.session} and stays so`;
  if (eventId === undefined || eventId === record?.id) return undefined;
  return 'its event id stays as it is: leave event_id out';
}

function readObject(id: string, text: string): JsonObject {
  try {
    const value = parseJson(text, { depthMax });
    if (isJsonObject(value)) return value;
    throw editRefused({ id, reason: 'an event is a JSON object' });
  } catch (error) {
    if (error instanceof JsonInvalid)
      throw editRefused({ id, reason: `it is not JSON: ${error.message}` }, error);
    throw error;
  }
}

/** What an editor may leave out: it is the letter's. */
function withIds(
  value: JsonObject,
  { workspace, session }: Letter,
  record: LogRecord | undefined,
): JsonObject {
  return {
    ...(record === undefined ? {} : { event: record.event }),
    workspace,
    ...sessionMember(workspace, session),
    ...value,
  };
}

/** An event without a session id has one made of its workspace, which no client may send (ING-944). */
function sessionMember(workspace: string, session: string): JsonObject {
  return session === sessionOfNone(workspace) ? {} : { session_id: session };
}
