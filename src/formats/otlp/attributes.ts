import { isRawNumber, JsonInvalid, parseJson, type JsonObject, type JsonValue } from '#base';
import { listOf, objectOf } from '../event-draft.ts';

/** `[{key, value}]` as one object; of a repeated key the last. */
export function attributesOf(list: JsonValue | undefined): JsonObject {
  const entries: [string, JsonValue][] = [];
  for (const item of listOf(list)) {
    const pair = objectOf(item);
    const key = pair?.['key'];
    if (typeof key === 'string') entries.push([key, anyValue(pair?.['value'])]);
  }
  return Object.fromEntries(entries);
}

/** An AnyValue as plain JSON; 64-bit integers are texts on the wire, and numbers are taken too. */
export function anyValue(given: JsonValue | undefined): JsonValue {
  const value = objectOf(given);
  if (value === undefined) return null;
  const { stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue, bytesValue } =
    value;
  if (stringValue !== undefined) return stringValue;
  if (boolValue !== undefined) return boolValue;
  if (intValue !== undefined) return integerOf(intValue);
  if (doubleValue !== undefined) return doubleValue;
  if (arrayValue !== undefined) return listOf(objectOf(arrayValue)?.['values']).map(anyValue);
  if (kvlistValue !== undefined) return attributesOf(objectOf(kvlistValue)?.['values']);
  return bytesValue ?? null;
}

function integerOf(value: JsonValue): JsonValue {
  return typeof value === 'string' && /^-?\d{1,19}$/.test(value)
    ? parseJson(String(BigInt(value)))
    : value;
}

/** Nanoseconds since 1970 as RFC 3339 with nine digits; undefined for 0 and for what is no time. */
export function nanoTime(value: JsonValue | undefined): string | undefined {
  const text = isRawNumber(value)
    ? value.rawJSON
    : String(typeof value === 'number' || typeof value === 'string' ? value : '');
  if (!/^\d{1,20}$/.test(text)) return undefined;
  const nanos = BigInt(text);
  const seconds = nanos / 1_000_000_000n;
  if (nanos === 0n || seconds > 253_402_300_799n) return undefined;
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${whole}.${String(nanos % 1_000_000_000n).padStart(9, '0')}Z`;
}

/** Structured values often stand as JSON text in an attribute. */
export function structured(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== 'string' || !/^\s*[{[]/.test(value)) return value;
  try {
    return parseJson(value, { depthMax: 100 });
  } catch (error) {
    if (error instanceof JsonInvalid) return value;
    throw error;
  }
}
