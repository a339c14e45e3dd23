import { isRawNumber, type JsonObject, type JsonValue } from '#base';

const needsEscape = /[^\x20-\x7e]/;

/**
 * JSON text as the predecessor wrote it into properties, so that queries and readers find what they know: a space behind `:` and `,`, members
 * as the client ordered them, ASCII alone. Lone surrogates stay escapes, raw numbers keep their digits (D30).
 */
export function jsonText(value: JsonValue): string {
  if (typeof value === 'string') return stringText(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isRawNumber(value)) return value.rawJSON;
  if (Array.isArray(value)) return `[${(value as readonly JsonValue[]).map(jsonText).join(', ')}]`;
  const members = Object.entries(value as JsonObject);
  return `{${members.map(([name, member]) => `${stringText(name)}: ${jsonText(member)}`).join(', ')}}`;
}

function stringText(text: string): string {
  const quoted = JSON.stringify(text);
  if (!needsEscape.test(quoted)) return quoted;
  return quoted.replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
