import type { IncomingHttpHeaders } from 'node:http';
import { forbidden } from '#access';
import { JsonInvalid, type JsonObject } from '#base';
import {
  bodyOfDraft,
  decodeOtlpJson,
  decodeOtlpProtobuf,
  encodeOtlp,
  refuseMetrics,
  translateLogs,
  translateTraces,
  type OtlpEvents,
  type Signal,
  type TraceSessions,
} from '#formats';
import { recordNotJson, sessionOwnerMismatch, type IngestAnswer } from '#ingest';
import type { Failure } from '../failures/describe-failure.ts';
import {
  workspaceOf,
  type DoorStyle,
  type ForeignEvents,
  type ForeignReply,
} from './door-style.ts';
import { mediaTypeUnsupported } from '../errors.ts';

const protobufType = 'application/x-protobuf';
const jsonType = 'application/json';
/** The longest reason that is told. */
const reasonLengthMax = 1000;

/**
 * OTLP/HTTP (formats 4.1): the answer is in the type of the request; what can never be stored is a partial success, which a client must not send
 * again; trouble that may pass is 429 or 503 with Retry-After, on which it does.
 */
export function otlpStyle(signal: Signal, known: TraceSessions): DoorStyle {
  return {
    takesEmpty: true,
    checkType: (headers) => {
      if (typeOf(headers) === undefined)
        throw mediaTypeUnsupported({
          reason: `the Content-Type ${JSON.stringify(headers['content-type']?.slice(0, 100) ?? '')} is not understood: send ${protobufType} or ${jsonType}`,
        });
    },
    read(request) {
      const decoded = decode(signal, request.headers, request.body);
      const workspace = workspaceOf(request);
      try {
        const told = translate(signal, decoded, { workspace, time: request.time, known });
        return {
          bodies: told.drafts.map(({ draft }) => bodyOfDraft(draft)),
          parts: told.drafts.map(({ part }) => part),
          refused: told.refused,
          reason: told.reason,
        };
      } catch (error) {
        throw notOtlp(error);
      }
    },
    reply: (answer, events, { headers }) => reply(signal, answer, events, headers),
    fail: failInRpcStatus,
  };
}

function translate(
  signal: Signal,
  decoded: JsonObject,
  around: {
    readonly workspace: string | undefined;
    readonly time: string;
    readonly known: TraceSessions;
  },
): OtlpEvents {
  const { workspace, time, known } = around;
  if (signal === 'traces') return translateTraces(decoded, workspace, known);
  if (signal === 'logs') return translateLogs(decoded, { workspace, time }, known);
  return refuseMetrics(decoded);
}

function decode(signal: Signal, headers: IncomingHttpHeaders, body: Uint8Array): JsonObject {
  if (body.byteLength === 0) return {};
  try {
    return typeOf(headers) === protobufType
      ? decodeOtlpProtobuf(body, signal)
      : decodeOtlpJson(body);
  } catch (error) {
    throw notOtlp(error);
  }
}

/** What cannot be decoded is refused whole and for good: 400. */
function notOtlp(error: unknown): unknown {
  return error instanceof JsonInvalid ? recordNotJson({ reason: error.message }, error) : error;
}

/** Refusals of who is asking are no matter of single spans. */
const ofTheSender: ReadonlySet<string> = new Set([forbidden.code, sessionOwnerMismatch.code]);

function reply(
  signal: Signal,
  answer: IngestAnswer | undefined,
  events: ForeignEvents,
  headers: IncomingHttpHeaders,
): ForeignReply {
  const rejects = answer?.rejects ?? [];
  const isWhole = rejects.length > 0 && rejects.length === answer?.outcomes.length;
  const [first] = rejects;
  if (isWhole && first !== undefined && rejects.every(({ code }) => ofTheSender.has(code)))
    return { status: 403, ...statusBody(403, first.message, headers) };
  const parts = new Set(rejects.map(({ index }) => events.parts?.[index] ?? index));
  const rejected = parts.size + events.refused;
  const reason = (events.reason === '' ? (first?.message ?? '') : events.reason).slice(
    0,
    reasonLengthMax,
  );
  return { status: 200, ...successBody(signal, rejected, reason, headers) };
}

/** The member that counts what was refused. */
const counts: Readonly<Record<Signal, string>> = {
  traces: 'rejectedSpans',
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
};

/** Nothing at all in it where everything was stored: `partial_success` stays unset. */
function successBody(
  signal: Signal,
  rejected: number,
  errorMessage: string,
  headers: IncomingHttpHeaders,
): Omit<ForeignReply, 'status'> {
  const isPartial = rejected > 0;
  if (typeOf(headers) === protobufType) {
    const partialSuccess = { rejected, errorMessage };
    return {
      contentType: protobufType,
      body: isPartial ? encodeOtlp('Response', { partialSuccess }) : '',
    };
  }
  // 64-bit integers are texts in OTLP/JSON.
  const partialSuccess = { [counts[signal]]: String(rejected), errorMessage };
  return { contentType: jsonType, body: JSON.stringify(isPartial ? { partialSuccess } : {}) };
}

function failInRpcStatus(
  failure: Failure,
  headers: IncomingHttpHeaders,
): Omit<ForeignReply, 'status'> {
  return statusBody(failure.status, `${failure.code}: ${failure.message}`, headers);
}

/** Codes of google.rpc by status of HTTP. */
const rpcCodes: Readonly<Record<number, number>> = {
  401: 16,
  403: 7,
  409: 6,
  413: 8,
  429: 8,
  500: 13,
  503: 14,
};
const invalidArgument = 3;

function statusBody(
  status: number,
  message: string,
  headers: IncomingHttpHeaders,
): Required<Omit<ForeignReply, 'status'>> {
  const told = { code: rpcCodes[status] ?? invalidArgument, message };
  if (typeOf(headers) === protobufType)
    return { contentType: protobufType, body: encodeOtlp('RpcStatus', told) };
  return { contentType: jsonType, body: JSON.stringify(told) };
}

function typeOf(headers: IncomingHttpHeaders): string | undefined {
  const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';');
  const name = type.trim();
  return name === protobufType || name === jsonType ? name : undefined;
}
