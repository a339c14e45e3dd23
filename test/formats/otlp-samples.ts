import { messageType, type MessageName } from '../../src/formats/otlp/schema.ts';

/** A request in the form of OTLP/JSON as protobuf bytes; ids are hex there and bytes here. */
export function encodeForTest(name: MessageName, value: object): Buffer {
  const type = messageType(name);
  return Buffer.from(type.encode(type.fromObject(withBytes(value) as object)).finish());
}

function withBytes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withBytes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, inner]: [string, unknown]) => [
      member,
      /^(traceId|spanId|parentSpanId)$/.test(member)
        ? Buffer.from(String(inner), 'hex')
        : withBytes(inner),
    ]),
  );
}
