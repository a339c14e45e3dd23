import { isRawNumber, quoteAscii, type JsonObject, type JsonValue } from '#base';

/**
 * JSON text as the predecessor wrote it into properties, so that queries and readers find what they know: a space behind `:` and `,`, members
 * as the client ordered them, ASCII alone. Lone surrogates stay escapes, raw numbers keep their digits (D30).
 */
export function jsonText(value: JsonValue): string {
  if (typeof value === 'string') return quoteAscii(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isRawNumber(value)) return value.rawJSON;
  if (Array.isArray(value)) return `[${(value as readonly JsonValue[]).map(jsonText).join(', ')}]`;
  const members = Object.entries(value as JsonObject);
  return `{${members.map(([name, member]) => `${quoteAscii(name)}: ${jsonText(member)}`).join(', ')}}`;
}
