import { scanSource, sliceItems, type ItemSlice, type JsonValue, type ScanSource } from '#base';
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
  readonly records?: Records;
}

/** The records of a batch, in order; checked as they are asked for, so that a large body can be taken in portions. */
export interface Records {
  /** Undefined after the last. */
  next(): Checked | undefined;
}

/** Records of a body, each checked in full (D10). Pure. */
export function splitBody(body: Uint8Array, form: BodyForm, rules: RecordRules): SplitBody {
  return form === 'ndjson' ? { records: new Lines(body, rules) } : documentOf(body, rules);
}

const lineFeed = 0x0a;

/** One event on each line, split at byte 0x0A alone (D14); blank lines are none. */
class Lines implements Records {
  readonly #source: ScanSource;
  readonly #rules: RecordRules;
  #start = 0;
  #index = 0;
  #line = 0;

  constructor(body: Uint8Array, rules: RecordRules) {
    this.#source = scanSource(body);
    this.#rules = rules;
  }

  next(): Checked | undefined {
    const { bytes } = this.#source;
    while (this.#start < bytes.length) {
      const start = this.#start;
      const found = bytes.indexOf(lineFeed, start);
      const end = found < 0 ? bytes.length : found;
      this.#start = end + 1;
      this.#line += 1;
      if (isBlank(bytes, start, end)) continue;
      const place = { index: this.#index++, line: this.#line };
      const event = checkPlain(this.#source, start, end, this.#rules);
      return event === undefined
        ? checkLine(bytes.subarray(start, end), this.#rules, place)
        : { event, place };
    }
    return undefined;
  }
}

function checkLine(bytes: Uint8Array, rules: RecordRules, place: Place): Checked {
  const large = checkSize(bytes, rules, place);
  if (large !== undefined) return { reject: large };
  const { value, fault } = parseDocument(bytes);
  if (value === undefined) return { reject: { ...place, ...fault } };
  if (!Array.isArray(value)) return checkEvent(value, bytes, rules, place);
  const message = 'the line holds an array: put one event on each line, or send application/json';
  return { reject: { ...place, code: recordFraming.code, message } };
}

/** One event, or an array of them, as one JSON document. */
function documentOf(body: Uint8Array, rules: RecordRules): SplitBody {
  const place = { index: 0, line: 1 };
  const event = checkPlain(scanSource(body), 0, body.byteLength, rules);
  if (event !== undefined) return { single: { event, place } };
  const { value, fault } = parseDocument(body);
  if (value === undefined) return { single: { reject: { ...place, ...fault } } };
  return Array.isArray(value)
    ? { records: new Items(value as readonly JsonValue[], body, rules) }
    : { single: checkEvent(value, body, rules, place) };
}

class Items implements Records {
  readonly #values: readonly JsonValue[];
  readonly #places: readonly ItemSlice[];
  readonly #body: Uint8Array;
  readonly #rules: RecordRules;
  #index = 0;
  #line = 1;
  /** Line breaks before it are counted. */
  #counted = 0;

  constructor(values: readonly JsonValue[], body: Uint8Array, rules: RecordRules) {
    this.#values = values;
    this.#places = sliceItems(body);
    this.#body = body;
    this.#rules = rules;
  }

  next(): Checked | undefined {
    const index = this.#index++;
    const item = this.#places[index];
    if (item === undefined) return undefined;
    const { start, end } = item;
    const body = this.#body;
    for (let at = body.indexOf(lineFeed, this.#counted); at >= 0 && at < start;) {
      this.#line += 1;
      at = body.indexOf(lineFeed, at + 1);
    }
    this.#counted = start;
    const place = { index, line: this.#line };
    return checkEvent(this.#values[index] ?? null, body.subarray(start, end), this.#rules, place);
  }
}

function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  }
  return true;
}
