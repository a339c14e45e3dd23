import {
  flattenWhitespace,
  isJsonObject,
  sliceMembers,
  type JsonObject,
  type JsonValue,
  type WantedNames,
} from '#base';

/** Members of an event that become part of the record by name; all others are `more`. Each of them but `data` is a text, null or a truth value. */
export const ownMembers = [
  'event',
  'workspace',
  'session_id',
  'event_id',
  'idempotency_key',
  'derived_id',
  'data',
] as const;

/** Members of its data by which an event is checked. */
export const checkedDataMembers = ['timestamp', 'session_id'] as const;

/** What a scan of an event tells. */
export const eventNames: WantedNames = {
  outer: ownMembers,
  inside: 'data',
  inner: checkedDataMembers,
};

/** What an event is made of: the members by which it is checked, undefined where it has none, and its own bytes of all others. */
export interface EventMembers {
  readonly event: JsonValue | undefined;
  readonly workspace: JsonValue | undefined;
  readonly sessionId: JsonValue | undefined;
  readonly eventId: JsonValue | undefined;
  readonly idempotencyKey: JsonValue | undefined;
  readonly derivedId: JsonValue | undefined;
  /** Data is there, and an object. */
  readonly hasData: boolean;
  /** Of data. */
  readonly timestamp: JsonValue | undefined;
  /** Of data. */
  readonly dataSessionId: JsonValue | undefined;
  /** As `AcceptedEvent` has them. */
  readonly dataBytes: Uint8Array;
  readonly moreBytes: Uint8Array | undefined;
}

const ownNames: ReadonlySet<string> = new Set(ownMembers);

/** Those of a value that was made of `bytes`. */
export function eventMembers(value: JsonObject, bytes: Uint8Array): EventMembers {
  const { data } = value;
  const hasData = isJsonObject(data);
  const { dataBytes, others } = memberSpans(bytes);
  return {
    event: value['event'],
    workspace: value['workspace'],
    sessionId: value['session_id'],
    eventId: value['event_id'],
    idempotencyKey: value['idempotency_key'],
    derivedId: value['derived_id'],
    hasData,
    timestamp: hasData ? data['timestamp'] : undefined,
    dataSessionId: hasData ? data['session_id'] : undefined,
    dataBytes: flattenWhitespace(dataBytes),
    moreBytes: others.length === 0 ? undefined : flattenWhitespace(joinMembers(others)),
  };
}

/** Bytes of `data`, of a repeated name the last, as JSON.parse takes it; and all that is not ours. */
function memberSpans(bytes: Uint8Array): {
  readonly dataBytes: Uint8Array;
  readonly others: readonly Uint8Array[];
} {
  let dataBytes = bytes;
  const others: Uint8Array[] = [];
  for (const { key, keyStart, start, end } of sliceMembers(bytes)) {
    if (key === 'data') dataBytes = bytes.subarray(start, end);
    if (!ownNames.has(key)) others.push(bytes.subarray(keyStart, end));
  }
  return { dataBytes, others };
}

/** One object of members, each from the quote of its name to the end of its value. */
export function joinMembers(members: readonly Uint8Array[]): Uint8Array {
  const parts = members.flatMap((member, at) => [Buffer.from(at === 0 ? '{' : ','), member]);
  return Buffer.concat([...parts, Buffer.from('}')]);
}
