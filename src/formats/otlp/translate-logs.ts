import type { JsonObject } from '#base';
import { defined, idPart, listOf, objectOf, slugOf, textOf } from '../event-draft.ts';
import { anyValue, attributesOf, nanoTime } from './attributes.ts';
import { sessionIn } from './conventions.ts';
import { hexId } from './read-spans.ts';
import { TraceSessions } from './trace-sessions.ts';
import type { OtlpEvents } from './translate-traces.ts';

/**
 * Log records as events of their own names; pure. A record has no id on the wire: only one that counts itself within its session (Claude Code) can
 * be known again (formats 4.1, ING-514). `time` is that of the arrival. Throws JsonInvalid.
 */
export function translateLogs(
  request: JsonObject,
  around: { readonly workspace: string | undefined; readonly time: string },
  known: TraceSessions = new TraceSessions(),
): OtlpEvents {
  const drafts: OtlpEvents['drafts'][number][] = [];
  let part = -1;
  let refused = 0;
  for (const ofResource of listOf(request['resourceLogs']).map(objectOf)) {
    const resource = attributesOf(objectOf(ofResource?.['resource'])?.['attributes']);
    for (const ofScope of listOf(ofResource?.['scopeLogs']).map(objectOf)) {
      const scope = textOf(objectOf(ofScope?.['scope'])?.['name']);
      for (const record of listOf(ofScope?.['logRecords']).map(objectOf)) {
        part += 1;
        if (record === undefined) refused += 1;
        else drafts.push({ part, draft: draftOf(record, { ...around, resource, scope, known }) });
      }
    }
  }
  return { drafts, refused, reason: refused === 0 ? '' : 'a log record is no object' };
}

function draftOf(
  record: JsonObject,
  around: {
    readonly workspace: string | undefined;
    readonly time: string;
    readonly resource: JsonObject;
    readonly scope: string | undefined;
    readonly known: TraceSessions;
  },
): OtlpEvents['drafts'][number]['draft'] {
  const attributes = attributesOf(record['attributes']);
  const body = anyValue(record['body']);
  const { resource, scope } = around;
  const traceId = hexId(record['traceId'], 32);
  const spanId = hexId(record['spanId'], 16);
  const service = textOf(resource['service.name']);
  const name =
    textOf(record['eventName']) ??
    textOf(attributes['event.name']) ??
    (typeof body === 'string' && body.length <= 100 ? body : 'log');
  const session =
    sessionIn(attributes) ??
    sessionIn(resource) ??
    (traceId && around.known.sessionFor(around.workspace, traceId, undefined)) ??
    traceId;
  const sequence = attributes['event.sequence'];
  const isCounted =
    session !== undefined && (typeof sequence === 'number' || typeof sequence === 'string');
  return {
    event: `otel:${slugOf(name)}`,
    workspace: around.workspace ?? service ?? 'otlp',
    session,
    time:
      nanoTime(record['timeUnixNano']) ?? nanoTime(record['observedTimeUnixNano']) ?? around.time,
    id: isCounted ? `otlp:log:${idPart(service ?? '')}:${idPart(String(sequence))}` : undefined,
    data: defined({
      trace_id: traceId,
      span_id: spanId,
      severity: record['severityText'] ?? record['severityNumber'],
      body,
      attributes,
      resource,
      scope,
    }),
  };
}
