import { assert } from './assert.ts';
import { isRawNumber, type JsonObject, type JsonValue } from './json.ts';

/**
 * The one text of a JSON value (RFC 8785): members in UTF-16 order, no white space, numbers as ECMAScript writes them.
 * Two things go beyond the RFC (D30): a raw number keeps its text, and a lone surrogate stays an escape.
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    assert(Number.isFinite(value), `JSON has no number ${value}`);
    return Object.is(value, -0) ? '0' : String(value);
  }
  if (value === null || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return canonicalArray(value as readonly JsonValue[]);
  return isRawNumber(value) ? value.rawJSON : canonicalObject(value as JsonObject);
}

function canonicalArray(items: readonly JsonValue[]): string {
  let text = '[';
  for (let at = 0; at < items.length; at += 1) {
    if (at > 0) text += ',';
    text += canonicalJson(items[at] as JsonValue);
  }
  return `${text}]`;
}

function canonicalObject(object: JsonObject): string {
  let text = '{';
  for (const member of Object.keys(object).sort()) {
    const value = object[member];
    assert(value !== undefined, `member ${member} has no JSON value`);
    if (text.length > 1) text += ',';
    text += `${JSON.stringify(member)}:${canonicalJson(value)}`;
  }
  return `${text}}`;
}
