import {
  flattenWhitespace,
  isJsonObject,
  JsonInvalid,
  parseJson,
  sliceMembers,
  type JsonObject,
  type JsonValue,
} from '#base';
import type { SourceDefaults, Translated } from '../translated.ts';
import { eventKey } from './event-key.ts';

/** Members that the foundation log lifts out of an event's payload; they go back into it (formats 1.1). */
const promotedMembers = [
  'redaction',
  'status',
  'duration_ms',
  'module',
  'component',
  'error',
  'request_id',
  'span_id',
  'parent_span_id',
  'session_id',
] as const;

/** Deeper nesting is refused here, before anything walks it; admission is stricter. */
const depthMax = 1000;

/** The envelopes, told apart by what stands in the line. */
export type Envelope = 'foundation' | 'typed' | 'body';

/**
 * One line of an Amplifier log, or one ready body, into an event for `POST /v1/events`. Pure. `data` keeps the bytes that it has in the line.
 * An event that brings no id gets the one that the live client gives it, marked as derived (D21).
 */
export function translateLine(line: Uint8Array, defaults: SourceDefaults): Translated {
  if (isBlank(line)) return { kind: 'skip' };
  const parsed = readObject(line);
  return 'kind' in parsed ? parsed : translateObject(parsed.object, line, defaults);
}

/** The same for a line that was parsed already. */
export function translateObject(
  object: JsonObject,
  line: Uint8Array,
  defaults: SourceDefaults,
): Translated {
  const envelope = envelopeOf(object);
  if (envelope === undefined) {
    return invalid('the line is no event: it has neither event with data nor type with ts');
  }
  if (envelope === 'body') return translateBody(object, line, defaults);
  return translateLog(object, line, envelope === 'typed' ? 'type' : 'event', defaults);
}

/** Undefined for a line that is no event, such as one of a transcript. */
export function envelopeOf(line: JsonObject): Envelope | undefined {
  const hasTime = typeof line['ts'] === 'string';
  if (typeof line['event'] === 'string') {
    const data = line['data'];
    return hasTime && !(isJsonObject(data) && data['timestamp'] !== undefined)
      ? 'foundation'
      : 'body';
  }
  return typeof line['type'] === 'string' && hasTime && isJsonObject(line['data'])
    ? 'typed'
    : undefined;
}

/** A log line: time and session stand at the top, the payload lacks what was promoted. */
function translateLog(
  object: JsonObject,
  line: Uint8Array,
  nameMember: 'event' | 'type',
  defaults: SourceDefaults,
): Translated {
  const workspace = textOf(object['workspace']) ?? defaults.workspace;
  if (workspace === undefined) return noWorkspace();
  const data = object['data'] ?? {};
  if (!isJsonObject(data)) return invalid('data is not an object');
  const spans = new Spans(flattenWhitespace(line));
  const added = promotedMembers
    .filter((member) => spans.has(member) && data[member] === undefined)
    .map((member) => `${JSON.stringify(member)}:${spans.get(member)}`);
  const hasSession = textOf(data['session_id'] ?? object['session_id']) !== undefined;
  if (!hasSession && defaults.session !== undefined) {
    added.push(`"session_id":${JSON.stringify(defaults.session)}`);
  }
  added.push(`"timestamp":${spans.get('ts')}`);
  const event = textOf(object[nameMember]) ?? '';
  // A payload that is null is none.
  const dataText = isJsonObject(object['data']) ? spans.get('data') : undefined;
  return bodyOf(workspace, event, withMembers(dataText ?? '{}', added));
}

/** A body of `POST /events`, or a context-intelligence log line, which is one with its time repeated at the top. */
function translateBody(object: JsonObject, line: Uint8Array, defaults: SourceDefaults): Translated {
  const spans = new Spans(flattenWhitespace(line));
  const data = object['data'];
  if (!isJsonObject(data)) return invalid('data is missing or not an object');
  const workspace = textOf(object['workspace']) ?? defaults.workspace;
  if (workspace === undefined) return noWorkspace();
  const added = missingOf(object, data, spans, defaults);
  const dataText = (): string => withMembers(spans.get('data') ?? '{}', added);
  const event = textOf(object['event']) ?? '';
  const isPlainLog = Object.keys(object).every((member) => logMembers.has(member));
  if (isPlainLog) return bodyOf(workspace, event, dataText());
  const members: string[] = [];
  if (textOf(object['workspace']) === undefined)
    members.push(`"workspace":${JSON.stringify(workspace)}`);
  if (added.length > 0) members.push(`"data":${dataText()}`);
  if (!hasId(object)) members.push(...idMembers(eventKey(workspace, event, dataText())));
  return { kind: 'event', body: withMembers(spans.whole(), members) };
}

/** All that a context-intelligence log line has. */
const logMembers: ReadonlySet<string> = new Set(['data', 'event', 'timestamp', 'workspace']);

function missingOf(
  object: JsonObject,
  data: JsonObject,
  spans: Spans,
  defaults: SourceDefaults,
): readonly string[] {
  const added: string[] = [];
  const hasSession = textOf(data['session_id'] ?? object['session_id']) !== undefined;
  if (!hasSession && defaults.session !== undefined) {
    added.push(`"session_id":${JSON.stringify(defaults.session)}`);
  }
  const time = data['timestamp'] === undefined ? spans.get('timestamp') : undefined;
  if (time !== undefined) added.push(`"timestamp":${time}`);
  return added;
}

function bodyOf(workspace: string, event: string, dataText: string): Translated {
  const head = `{"event":${JSON.stringify(event)},"workspace":${JSON.stringify(workspace)}`;
  const id = idMembers(eventKey(workspace, event, dataText)).join(',');
  return { kind: 'event', body: `${head},${id},"data":${dataText}}` };
}

function idMembers(key: string): readonly string[] {
  return [`"event_id":${JSON.stringify(key)}`, '"derived_id":true'];
}

function hasId(object: JsonObject): boolean {
  return (
    textOf(object['event_id']) !== undefined || textOf(object['idempotency_key']) !== undefined
  );
}

/** Members at the end of an object's text; of a repeated name the last counts. */
function withMembers(text: string, members: readonly string[]): string {
  if (members.length === 0) return text;
  const open = text.slice(0, text.lastIndexOf('}')).trimEnd();
  return `${open}${open.endsWith('{') ? '' : ','}${members.join(',')}}`;
}

/** Texts of top-level values, the last of a repeated name; found and decoded once they are asked for: most events are sent as they are. */
class Spans {
  readonly #bytes: Uint8Array;
  #found: Map<string, { readonly start: number; readonly end: number }> | undefined;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  whole(): string {
    return this.#text(0, this.#bytes.length);
  }

  has(name: string): boolean {
    return this.#spans().has(name);
  }

  get(name: string): string | undefined {
    const span = this.#spans().get(name);
    return span === undefined ? undefined : this.#text(span.start, span.end);
  }

  #spans(): Map<string, { readonly start: number; readonly end: number }> {
    this.#found ??= new Map(sliceMembers(this.#bytes).map((member) => [member.key, member]));
    return this.#found;
  }

  #text(start: number, end: number): string {
    const { buffer, byteOffset } = this.#bytes;
    return Buffer.from(buffer, byteOffset + start, end - start).toString('utf8');
  }
}

function readObject(
  line: Uint8Array,
): { readonly object: JsonObject } | Extract<Translated, { kind: 'reject' }> {
  try {
    const value = parseJson(line, { depthMax });
    return isJsonObject(value) ? { object: value } : invalid('the line is not a JSON object');
  } catch (error) {
    if (!(error instanceof JsonInvalid)) throw error;
    return {
      kind: 'reject',
      code: 'RECORD_NOT_JSON',
      message: `the line is not JSON: ${error.message}`,
    };
  }
}

function invalid(message: string): Extract<Translated, { kind: 'reject' }> {
  return { kind: 'reject', code: 'EVENT_INVALID', message };
}

function noWorkspace(): Translated {
  return invalid('the line names no workspace; name it with --workspace');
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
