import { JsonInvalid, type JsonObject, type JsonValue } from '#base';
import { listOf, objectOf, textOf } from '../event-draft.ts';
import { attributesOf, nanoTime, structured } from './attributes.ts';
import { roleOf, sessionIn, type SpanRole } from './conventions.ts';

/** A span with what its translation asks for. */
export interface Span {
  /** Of the span in its request, from 0. */
  readonly index: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly name: string;
  readonly role: SpanRole;
  /** RFC 3339, nine digits. */
  readonly start: string;
  readonly end: string | undefined;
  readonly attributes: JsonObject;
  readonly resource: JsonObject;
  readonly scope: string | undefined;
  readonly object: JsonObject;
}

export interface ReadSpans {
  readonly spans: readonly Span[];
  readonly refused: number;
  readonly reason: string;
}

/** Every span of a request. One that cannot be known again or has no time is refused; throws JsonInvalid for ids that are no hex (formats 4.1). */
export function readSpans(request: JsonObject): ReadSpans {
  const spans: Span[] = [];
  let index = -1;
  let refused = 0;
  let reason = '';
  for (const ofResource of listOf(request['resourceSpans']).map(objectOf)) {
    const resource = attributesOf(objectOf(ofResource?.['resource'])?.['attributes']);
    for (const ofScope of listOf(ofResource?.['scopeSpans']).map(objectOf)) {
      const scope = textOf(objectOf(ofScope?.['scope'])?.['name']);
      for (const object of listOf(ofScope?.['spans']).map(objectOf)) {
        index += 1;
        const read =
          object === undefined
            ? 'a span is no object'
            : readSpan(object, { resource, scope, index });
        if (typeof read !== 'string') spans.push(read);
        else {
          refused += 1;
          reason ||= read;
        }
      }
    }
  }
  return { spans, refused, reason };
}

function readSpan(
  object: JsonObject,
  around: Pick<Span, 'resource' | 'scope' | 'index'>,
): Span | string {
  const traceId = hexId(object['traceId'], 32);
  const spanId = hexId(object['spanId'], 16);
  if (traceId === undefined || spanId === undefined)
    return 'a span without a valid trace id and span id cannot be known again';
  const start = nanoTime(object['startTimeUnixNano']);
  if (start === undefined) return `the span ${spanId} has no start time`;
  const end = nanoTime(object['endTimeUnixNano']);
  const attributes = withMessages(attributesOf(object['attributes']), object['events']);
  const name = textOf(object['name']) ?? 'unnamed';
  return {
    ...around,
    traceId,
    spanId,
    parentId: hexId(object['parentSpanId'], 16),
    name,
    role: roleOf(name, attributes),
    start,
    end: end !== undefined && end < start ? start : end,
    attributes,
    object,
  };
}

/** Conventions that tell messages by events of the span: all in one, or one for each. */
function withMessages(attributes: JsonObject, events: JsonValue | undefined): JsonObject {
  let more: JsonObject = {};
  for (const event of listOf(events).map(objectOf)) {
    const told = attributesOf(event?.['attributes']);
    const content = told['content'] ?? told['gen_ai.event.content'];
    if (event?.['name'] === 'gen_ai.client.inference.operation.details')
      more = { ...told, ...more };
    else if (event?.['name'] === 'gen_ai.user.message' && content !== undefined)
      more = { ...more, 'gen_ai.prompt': contentOf(content) };
    else if (event?.['name'] === 'gen_ai.choice')
      more = { ...more, 'gen_ai.completion': contentOf(told['message'] ?? content ?? null) };
  }
  return { ...more, ...attributes };
}

/** Content stands there as a text, or as a message in JSON. */
function contentOf(value: JsonValue): JsonValue {
  return objectOf(structured(value))?.['content'] ?? value;
}

/** Hex in either case; undefined for none and for the invalid id of zeros. */
export function hexId(value: JsonValue | undefined, length: number): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string' || !/^[0-9a-f]*$/i.test(value))
    throw new JsonInvalid('traceId and spanId are hex texts in OTLP/JSON');
  return value.length === length && /[^0]/.test(value) ? value.toLowerCase() : undefined;
}

/**
 * Session of each trace: the first that a span of it names, the earliest first. A span's own word goes before that; a trace in which nobody
 * says anything is a session by itself.
 */
export function sessionsOf(spans: readonly Span[]): ReadonlyMap<string, string> {
  const sessions = new Map<string, string>();
  for (const { traceId, attributes, resource } of spans) {
    const told = sessionIn(attributes) ?? sessionIn(resource);
    if (told !== undefined && !sessions.has(traceId)) sessions.set(traceId, told);
  }
  return sessions;
}
