import { isJsonObject, JsonInvalid, parseJson, type JsonObject, type JsonValue } from '#base';
import { messageType, type MessageName } from './schema.ts';

export type Signal = 'traces' | 'logs' | 'metrics';

const requests: Readonly<Record<Signal, MessageName>> = {
  traces: 'TracesRequest',
  logs: 'LogsRequest',
  metrics: 'MetricsRequest',
};

/** Deeper nesting is refused before anything walks it. */
const depthMax = 256;
/** Members that are ids: base64 in what protobuf gives, hex in JSON. */
const idMembers: ReadonlySet<string> = new Set(['traceId', 'spanId', 'parentSpanId']);

/** A request in the form of OTLP/JSON, ids in lower-case hex; throws JsonInvalid for bytes that are none. */
export function decodeOtlpJson(bytes: Uint8Array): JsonObject {
  const value = parseJson(bytes, { depthMax });
  if (!isJsonObject(value)) throw new JsonInvalid('the request is not a JSON object');
  return value;
}

/** The same of a protobuf message; throws JsonInvalid. */
export function decodeOtlpProtobuf(bytes: Uint8Array, signal: Signal): JsonObject {
  const type = messageType(requests[signal]);
  try {
    const object = type.toObject(type.decode(bytes), {
      longs: String,
      bytes: String,
      oneofs: false,
    });
    return withHexIds(object as JsonObject) as JsonObject;
  } catch (error) {
    throw new JsonInvalid(`the body is no protobuf message of ${signal}`, error);
  }
}

function withHexIds(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(withHexIds);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      idMembers.has(name) && typeof member === 'string'
        ? Buffer.from(member, 'base64').toString('hex')
        : withHexIds(member),
    ]),
  );
}

export function encodeOtlp(
  name: 'Response' | 'RpcStatus',
  value: Readonly<Record<string, unknown>>,
): Uint8Array {
  const type = messageType(name);
  return type.encode(type.fromObject(value)).finish();
}
