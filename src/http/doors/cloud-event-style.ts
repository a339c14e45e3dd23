import type { IncomingHttpHeaders } from 'node:http';
import { isJsonObject, JsonInvalid, parseJson, type JsonValue } from '#base';
import { bodyOfDraft, readBinaryEvent, translateCloudEvent } from '#formats';
import {
  eventInvalid,
  recordNotJson,
  type IngestAnswer,
  type RecordOutcome,
  type Reject,
} from '#ingest';
import {
  workspaceOf,
  type DoorStyle,
  type ForeignEvents,
  type ForeignReply,
} from './door-style.ts';
import { mediaTypeUnsupported } from '../errors.ts';
import { eventsReply } from './events-reply.ts';
import { jsonType } from '../failures/send-failure.ts';

const depthMax = 512;
const binaryHeaders = ['ce-specversion', 'ce-id', 'ce-type', 'ce-source'] as const;

type Mode = 'structured' | 'batch' | 'binary';

/** Whether a request for `/v1/events` carries CloudEvents; costs next to nothing where it does not. */
export function isCloudRequest(headers: IncomingHttpHeaders): boolean {
  const { 'content-type': type } = headers;
  if (type !== undefined && /^application\/cloudevents/i.test(type)) return true;
  return binaryHeaders.some((name) => headers[name] !== undefined);
}

/** CloudEvents 1.0 over HTTP: structured, batched and binary (formats 5). Answers are those of `POST /v1/events`. */
export const cloudEventStyle: DoorStyle = {
  takesEmpty: true,
  checkType: (headers) => {
    modeOf(headers);
  },
  read(request) {
    const arrival = { workspace: workspaceOf(request), time: request.time };
    const bodies: string[] = [];
    const rejects: Reject[] = [];
    for (const [index, value] of valuesOf(request.headers, request.body).entries()) {
      const translated = isJsonObject(value)
        ? translateCloudEvent(value, arrival)
        : { fault: 'a CloudEvent is a JSON object' };
      if ('fault' in translated)
        rejects.push({
          index,
          line: 1,
          code: eventInvalid.code,
          message: `no CloudEvent: ${translated.fault}`,
        });
      else bodies.push(bodyOfDraft(translated.draft, { isOwnId: translated.isOwnId }));
    }
    return { bodies, refused: rejects.length, reason: '', rejects };
  },
  reply(answer, events, { headers, requestId }) {
    return replyOf(merged(answer, events, modeOf(headers) !== 'batch'), requestId);
  },
};

function replyOf(answer: IngestAnswer, requestId: string): ForeignReply {
  const { status, body } = eventsReply(answer, { requestId, isPredecessor: false });
  return { status, contentType: jsonType, body };
}

/** Receipts and refusals in the order of the events. */
function merged(
  answer: IngestAnswer | undefined,
  events: ForeignEvents,
  isSingle: boolean,
): IngestAnswer {
  const refused = new Map(events.rejects?.map((reject) => [reject.index, reject]));
  const stored = [...(answer?.outcomes ?? [])];
  const outcomes: RecordOutcome[] = [];
  for (let index = 0; stored.length > 0 || refused.has(index); index += 1) {
    const reject = refused.get(index);
    const outcome = reject === undefined ? stored.shift() : undefined;
    if (reject !== undefined) outcomes.push({ status: 'rejected', reject });
    else if (outcome?.status === 'rejected')
      outcomes.push({ status: 'rejected', reject: { ...outcome.reject, index } });
    else if (outcome !== undefined) outcomes.push(outcome);
  }
  return {
    acceptedAt: answer?.acceptedAt ?? '',
    durability: answer?.durability ?? 'group',
    queuedCount: answer?.queuedCount ?? 0,
    duplicateCount: answer?.duplicateCount ?? 0,
    isQuarantined: answer?.isQuarantined ?? false,
    isSingle,
    outcomes,
    rejects: outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reject] : [])),
  };
}

function valuesOf(headers: IncomingHttpHeaders, body: Uint8Array): readonly JsonValue[] {
  const mode = modeOf(headers);
  try {
    if (mode === 'binary') return [readBinaryEvent(headers, body)];
    const value = parseJson(body, { depthMax });
    if (mode === 'structured') return [value];
    if (Array.isArray(value)) return value as readonly JsonValue[];
  } catch (error) {
    if (!(error instanceof JsonInvalid)) throw error;
    throw recordNotJson({ reason: error.message }, error);
  }
  throw eventInvalid({ reason: 'a batch of CloudEvents is a JSON array' });
}

/** The batch is looked for first: its name begins like the other's. */
function modeOf(headers: IncomingHttpHeaders): Mode {
  const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';');
  const name = type.trim();
  if (name === 'application/cloudevents-batch+json') return 'batch';
  if (name === 'application/cloudevents+json') return 'structured';
  if (!name.startsWith('application/cloudevents')) return 'binary';
  throw mediaTypeUnsupported({
    reason: `the Content-Type ${JSON.stringify(name.slice(0, 100))} is not understood: send CloudEvents as application/cloudevents+json or application/cloudevents-batch+json`,
  });
}
