import { sha256Hex, type JsonObject, type JsonValue } from '#base';
import { defined, objectOf, textOf, type EventDraft } from '../event-draft.ts';
import { timeIn } from '../row-clock.ts';

/** Where an event came in, for what it does not say itself. */
export interface CloudArrival {
  readonly workspace: string | undefined;
  /** ISO 8601, of the arrival. */
  readonly time: string;
}

export type TranslatedCloudEvent =
  | {
      readonly draft: EventDraft;
      /** The id was given by the sender, and other content under it is a conflict (D11); not so where its time is ours. */
      readonly isOwnId: boolean;
    }
  | { readonly fault: string };

const core: ReadonlySet<string> = new Set([
  'specversion',
  'id',
  'source',
  'type',
  'time',
  'data',
  'data_base64',
]);

export function isCloudEvent(object: JsonObject): boolean {
  return ['specversion', 'id', 'source', 'type'].every((name) => typeof object[name] === 'string');
}

/** One CloudEvent 1.0 in its JSON form → an event; pure. `source` and `id` together are its id (formats 5). */
export function translateCloudEvent(
  given: JsonObject,
  arrival: CloudArrival,
): TranslatedCloudEvent {
  // A null attribute is one that is not set; null as data is data.
  const object = Object.fromEntries(
    Object.entries(given).filter(([name, value]) => value !== null || name === 'data'),
  );
  const fault = faultOf(object);
  if (fault !== undefined) return { fault };
  const [id, source, type] = [
    textOf(object['id']),
    textOf(object['source']),
    textOf(object['type']),
  ];
  const payload = objectOf(object['data']);
  const time = timeIn(payload?.['timestamp']) ?? timeIn(object['time']);
  const attributes = Object.fromEntries(Object.entries(object).filter(([name]) => !core.has(name)));
  const session =
    textOf(payload?.['session_id']) ?? textOf(object['sessionid']) ?? textOf(object['session']);
  return {
    isOwnId: time !== undefined,
    draft: {
      event: type ?? '',
      workspace:
        arrival.workspace ??
        textOf(object['workspace']) ??
        textOf(payload?.['workspace']) ??
        'cloudevents',
      session,
      time: time ?? arrival.time,
      id: `ce:${sha256Hex(Buffer.from(JSON.stringify([source, id])))}`,
      data: defined({
        ...(payload ?? valueOf(object)),
        cloudevent: defined({ id, source, time: object['time'], ...attributes }),
      }),
    },
  };
}

/** Data that is no object stands beside its attributes. */
function valueOf(object: JsonObject): Readonly<Record<string, JsonValue | undefined>> {
  return { value: object['data'], data_base64: object['data_base64'] };
}

function faultOf(object: JsonObject): string | undefined {
  if (object['specversion'] !== '1.0') return 'specversion must be "1.0"';
  for (const name of ['id', 'source', 'type'])
    if (textOf(object[name]) === undefined)
      return `${name} is missing; it is a text that is not empty`;
  const { subject, time } = object;
  if (subject !== undefined && textOf(subject) === undefined)
    return 'subject is a text that is not empty';
  if (time !== undefined && timeIn(time) === undefined) return 'time is no RFC 3339 time';
  if (object['data'] !== undefined && object['data_base64'] !== undefined)
    return 'data and data_base64 exclude each other';
  const base64 = object['data_base64'];
  if (
    base64 !== undefined &&
    (typeof base64 !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64))
  )
    return 'data_base64 is no base64 text';
  const wrong = Object.entries(object).find(([name, value]) => !isAttribute(name, value));
  return wrong === undefined
    ? undefined
    : `the attribute ${JSON.stringify(wrong[0].slice(0, 40))} is not one of CloudEvents 1.0`;
}

/** Names of lower-case letters and digits; values are no objects. */
function isAttribute(name: string, value: JsonValue): boolean {
  if (name === 'data' || name === 'data_base64') return true;
  return /^[a-z0-9]+$/.test(name) && ['string', 'number', 'boolean'].includes(typeof value);
}
