import { sliceItems, type JsonValue } from '#base';
import { recordFraming } from '#queue';
import {
  checkEvent,
  checkPlain,
  checkSize,
  parseDocument,
  type Checked,
  type Place,
  type RecordRules,
} from './check-record.ts';
import type { BodyForm } from './ingest.ts';

export interface SplitBody {
  /** The one event of a body that is no batch. */
  readonly single?: Checked;
  /** Of a batch, one entry per record, in order; made as it is asked for, so that a large body can be taken in portions. */
  readonly records?: Iterable<Checked>;
}

/** Records of a body, each checked in full (D10). Pure. */
export function splitBody(body: Uint8Array, form: BodyForm, rules: RecordRules): SplitBody {
  return form === 'ndjson' ? { records: linesOf(body, rules) } : documentOf(body, rules);
}

const lineFeed = 0x0a;

/** One event on each line, split at byte 0x0A alone (D14); blank lines are none. */
function* linesOf(body: Uint8Array, rules: RecordRules): Generator<Checked> {
  let index = 0;
  let line = 0;
  for (let start = 0; start < body.byteLength;) {
    const found = body.indexOf(lineFeed, start);
    const end = found < 0 ? body.byteLength : found;
    const bytes = body.subarray(start, end);
    line += 1;
    start = end + 1;
    if (isBlank(bytes)) continue;
    yield checkLine(bytes, rules, { index, line });
    index += 1;
  }
}

function checkLine(bytes: Uint8Array, rules: RecordRules, place: Place): Checked {
  const large = checkSize(bytes, rules, place);
  if (large !== undefined) return { reject: large };
  const plain = checkPlain(bytes, rules, place);
  if (plain !== undefined) return plain;
  const { value, fault } = parseDocument(bytes);
  if (value === undefined) return { reject: { ...place, ...fault } };
  if (!Array.isArray(value)) return checkEvent(value, bytes, rules, place);
  const message = 'the line holds an array: put one event on each line, or send application/json';
  return { reject: { ...place, code: recordFraming.code, message } };
}

/** One event, or an array of them, as one JSON document. */
function documentOf(body: Uint8Array, rules: RecordRules): SplitBody {
  const place = { index: 0, line: 1 };
  const plain = checkPlain(body, rules, place);
  if (plain !== undefined) return { single: plain };
  const { value, fault } = parseDocument(body);
  if (value === undefined) return { single: { reject: { ...place, ...fault } } };
  return Array.isArray(value)
    ? { records: itemsOf(value as readonly JsonValue[], body, rules) }
    : { single: checkEvent(value, body, rules, place) };
}

function* itemsOf(
  values: readonly JsonValue[],
  body: Uint8Array,
  rules: RecordRules,
): Generator<Checked> {
  let line = 1;
  let counted = 0;
  for (const [index, { start, end }] of sliceItems(body).entries()) {
    for (let at = body.indexOf(lineFeed, counted); at >= 0 && at < start;) {
      line += 1;
      at = body.indexOf(lineFeed, at + 1);
    }
    counted = start;
    yield checkEvent(values[index] ?? null, body.subarray(start, end), rules, { index, line });
  }
}

function isBlank(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  return true;
}
