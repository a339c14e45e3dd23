import { isRawNumber, quoteAscii, type JsonObject, type JsonValue } from '#base';

/**
 * JSON text as the predecessor wrote it into properties, so that queries and readers find what they know: a space behind `:` and `,`, members
 * as the client ordered them, ASCII alone. Lone surrogates stay escapes, raw numbers keep their digits (D30).
 */
export function jsonText(value: JsonValue): string {
  if (typeof value === 'string') return quoteAscii(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isRawNumber(value)) return value.rawJSON;
  return Array.isArray(value) ? arrayText(value) : objectText(value as JsonObject);
}

function arrayText(items: readonly JsonValue[]): string {
  let text = '[';
  for (const [at, item] of items.entries()) {
    if (at > 0) text += ', ';
    text += jsonText(item);
  }
  return `${text}]`;
}

function objectText(object: JsonObject): string {
  let text = '{';
  for (const name in object) {
    if (text.length > 1) text += ', ';
    text += `${quoteAscii(name)}: ${jsonText(object[name] ?? null)}`;
  }
  return `${text}}`;
}
