import { createHash } from 'node:crypto';
import { quoteAscii } from '#base';

const prefix = 'aci-event-v1:';

/** A number as it stands in the text: 1.0 and 1 hash differently, and a double would forget which it was. */
class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

interface ParseWithSource {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
}

/**
 * The idempotency key that the hook client gives this event (predecessor 8.2): SHA-256 of the canonical JSON of `{data, event, workspace}`.
 * The same one for a live post and for the line of its file, so both doors together store the event once (D21). `dataText` is valid JSON.
 */
export function eventKey(workspace: string, event: string, dataText: string): string {
  const data = (JSON as ParseWithSource).parse(dataText, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? new NumberText(source) : value,
  );
  const text = `{"data":${sortedAscii(data)},"event":${quoteAscii(event)},"workspace":${quoteAscii(workspace)}}`;
  return prefix + createHash('sha256').update(text).digest('hex');
}

/** Python's `json.dumps(sort_keys=True, separators=(',', ':'))`. */
function sortedAscii(value: unknown): string {
  if (typeof value === 'string') return quoteAscii(value);
  if (value instanceof NumberText) return value.text;
  if (Array.isArray(value)) return `[${value.map(sortedAscii).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => compareCodePoints(a, b));
  return `{${members.map(([name, member]) => `${quoteAscii(name)}:${sortedAscii(member)}`).join(',')}}`;
}

/** Python sorts by code point, JavaScript by UTF-16 unit: they differ above the surrogates. */
function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (x !== y) return codePointRank(x) - codePointRank(y);
  }
  return a.length - b.length;
}

/** A surrogate stands for a code point above all others. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
