import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { assert } from '#base';
import { recordNotJson, type BodyForm, type IngestAnswer, type IngestRequest } from '#ingest';
import { requestFinished } from '#signals';
import { admitEvents } from './admit-request.ts';
import { isPredecessorPath } from './envelope.ts';
import { inputInvalid } from './errors.ts';
import { eventsReply } from './events-reply.ts';
import { bodyForm, isGzipped } from './media-type.ts';
import { readBody, type BodyLimits } from './read-body.ts';
import { jsonType, sendFailure } from './send-failure.ts';
import type { HttpServerOptions } from './server-options.ts';

interface EventsBody {
  readonly bytes: Uint8Array;
  readonly form: BodyForm;
}

/** The routes that take events: the body stays bytes, and no schema stands on its way (ING-911, ING-941). */
export function addEventRoutes(app: FastifyInstance, options: HttpServerOptions): void {
  const { ingest } = options;
  const limits: BodyLimits = {
    bytesMax: options.batchBytesMax,
    limitName: 'ingest.max_batch_bytes',
    reserve: (bytes) => ingest.reserve(bytes),
    release: (bytes) => ingest.release(bytes),
  };
  const failure = { chance: options.chance, isIngest: true };
  app.setErrorHandler((error, request, reply) => sendFailure(error, request, reply, failure));
  app.addHook('onRequest', (request, _reply, done) => {
    admitEvents(request, options.access);
    done();
  });
  // Fastify finds the first two without reading the header again; the last one is for all others, to refuse them in our words.
  for (const type of ['application/json', 'application/x-ndjson', '*'])
    app.addContentTypeParser(type, (request, payload, done) => {
      takeBody(request, payload, options, limits, done);
    });
  const handler = (request: FastifyRequest, reply: FastifyReply): void => {
    void answer(request, reply, options);
  };
  app.post('/v1/events', handler);
  app.post('/v1/sessions/:session/events', handler);
  app.post('/events', handler);
}

function takeBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  { ingest, clock }: HttpServerOptions,
  limits: BodyLimits,
  done: (error: Error | null, body?: EventsBody) => void,
): void {
  const { headers } = payload;
  let form: BodyForm = 'json';
  let isPacked = false;
  let refusal: Error | undefined;
  try {
    form = bodyForm(headers['content-type']);
    isPacked = isGzipped(headers['content-encoding']);
    ingest.checkSize(Number(headers['content-length'] ?? 0));
  } catch (error) {
    refusal = error as Error;
  }
  readBody({ payload, isPacked, limits, refusal }, (error, body) => {
    if (body === undefined) {
      done(error);
      return;
    }
    request.state.reservedBytes = body.reservedBytes;
    request.state.beganMs = clock.monotonic();
    done(null, { bytes: body.bytes, form });
  });
}

/** The answer is sent when the records are durable, whether or not anybody still listens (ING-917). */
async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  { ingest, clock, chance }: HttpServerOptions,
): Promise<void> {
  const body = request.body as EventsBody | undefined;
  const { state } = request;
  try {
    const answered = await ingest.accept(toIngestRequest(request, body));
    const status = sendAnswer(answered, request, reply);
    const bodyBytes = body?.bytes.byteLength ?? 0;
    publishAnswer(answered, status, bodyBytes, clock.monotonic() - state.beganMs, request);
  } catch (error) {
    sendFailure(error, request, reply, { chance, isIngest: true });
  } finally {
    ingest.release(state.reservedBytes);
  }
}

function toIngestRequest(request: FastifyRequest, body: EventsBody | undefined): IngestRequest {
  const { principal } = request.state;
  assert(principal !== undefined, 'a request with events is authenticated before it is read');
  if (body === undefined) throw recordNotJson({ reason: 'the body is empty' });
  return {
    body: body.bytes,
    form: body.form,
    principal,
    session: (request.params as { session?: string }).session,
    idempotencyKey: idempotencyKey(request.headers['idempotency-key']),
    isAtomic: flag(request.query as Readonly<Record<string, unknown>>, 'atomic'),
  };
}

/** Node reads header bytes as Latin-1; an id beyond ASCII is UTF-8 there as it is in a body. */
function idempotencyKey(header: string | readonly string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  return /^[ -~]*$/.test(header) ? header : Buffer.from(header, 'latin1').toString('utf8');
}

function flag(query: Readonly<Record<string, unknown>>, name: string): boolean {
  const value = query[name];
  if (value === undefined || value === 'false') return false;
  if (value === 'true' || value === '') return true;
  throw inputInvalid({ member: name, reason: 'must be true or false' });
}

function sendAnswer(answered: IngestAnswer, request: FastifyRequest, reply: FastifyReply): number {
  const { status, isReplayed, body } = eventsReply(answered, {
    requestId: request.id,
    isPredecessor: isPredecessorPath(request.url),
  });
  const headers: Record<string, string | number> = {
    'content-type': jsonType,
    'content-length': Buffer.byteLength(body),
  };
  if (isReplayed) headers['idempotency-replayed'] = 'true';
  if (answered.isQuarantined) headers['x-session-state'] = 'quarantined';
  // Fastify's own way to send would look at type and payload again, about 2 µs for each event of a busy daemon.
  reply.hijack();
  reply.raw.writeHead(status, headers).end(body);
  return status;
}

function publishAnswer(
  answered: IngestAnswer,
  status: number,
  bodyBytes: number,
  durationMs: number,
  request: FastifyRequest,
): void {
  requestFinished.publish(() => {
    const rejected: Record<string, number> = {};
    for (const { code } of answered.rejects) rejected[code] = (rejected[code] ?? 0) + 1;
    return {
      route: request.routeOptions.url ?? '',
      status,
      accepted: answered.queuedCount,
      duplicates: answered.duplicateCount,
      rejected,
      bodyBytes,
      durationMs,
    };
  });
}
