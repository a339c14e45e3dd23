import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { requireScope } from '#access';
import { decodeUtf8, JsonInvalid, parseJson } from '#base';
import { recordNotJson } from '#ingest';
import type { Caller, Verb } from '#ops';
import { draining } from '#queue';
import { admitCaller } from './doors/admit-request.ts';
import { bodyForm, isGzipped } from './doors/media-type.ts';
import { inputInvalid, mediaTypeUnsupported } from './errors.ts';
import { readBody, type BodyLimits } from './doors/read-body.ts';
import { jsonType } from './failures/send-failure.ts';
import type { HttpServerOptions } from './server-options.ts';
import { createInputReader, type InputParts } from './verb-input.ts';

/** No input of a verb is larger; the largest is an edited record. */
const inputBytesMax = 1024 * 1024;

/** Mounts every verb under its path and its aliases. `stopping` aborts what still waits when the daemon stops. */
export function addVerbRoutes(
  app: FastifyInstance,
  options: HttpServerOptions,
  stopping: AbortSignal,
): void {
  const { ingest } = options;
  const limits: BodyLimits = {
    bytesMax: inputBytesMax,
    limitName: 'the limit of an input',
    reserve: (bytes) => ingest.reserve(bytes),
    release: (bytes) => ingest.release(bytes),
  };
  app.addContentTypeParser('*', (request, payload, done) => {
    let refusal: Error | undefined;
    let isPacked = false;
    try {
      const { headers } = payload;
      isPacked = isGzipped(headers['content-encoding']);
      if (bodyForm(headers['content-type']) !== 'json')
        throw mediaTypeUnsupported({
          reason: 'an input is one JSON object: send application/json',
        });
    } catch (error) {
      refusal = error as Error;
    }
    readBody({ payload, isPacked, limits, refusal }, (error, body) => {
      if (body !== undefined) ingest.release(body.reservedBytes);
      done(error, body?.bytes);
    });
  });
  for (const verb of options.verbs) addVerb(app, verb, options, stopping);
}

function addVerb(
  app: FastifyInstance,
  verb: Verb,
  options: HttpServerOptions,
  stopping: AbortSignal,
): void {
  const readInput = createInputReader(verb.input);
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (stopping.aborted) throw stopping.reason;
    if (verb.scope !== null && request.state.principal !== undefined)
      requireScope(request.state.principal, verb.scope);
    const input = readInput(partsOf(request));
    const result = await verb.run(
      options.context,
      input as never,
      callerOf(verb, request, reply, stopping),
    );
    return sendResult(verb, result, reply);
  };
  for (const { method, path } of [verb.http, ...(verb.http.aliases ?? [])])
    app.route({
      method,
      url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
      onRequest: (request, _reply, done) => {
        admitCaller(request, options.access, verb.scope === null);
        done();
      },
      handler,
    });
}

function partsOf(request: FastifyRequest): InputParts {
  return {
    path: request.params as Readonly<Record<string, unknown>>,
    query: request.query as Readonly<Record<string, unknown>>,
    body: parseBody(request.body as Uint8Array | undefined),
  };
}

function parseBody(bytes: Uint8Array | undefined): unknown {
  if (bytes === undefined || bytes.byteLength === 0) return undefined;
  try {
    return parseJson(decodeUtf8(bytes), { depthMax: 32 });
  } catch (error) {
    if (error instanceof JsonInvalid)
      throw recordNotJson({ reason: 'the body is not one JSON document' });
    throw error;
  }
}

function callerOf(
  verb: Verb,
  request: FastifyRequest,
  reply: FastifyReply,
  stopping: AbortSignal,
): Caller {
  const { principal } = request.state;
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort(draining({ what: 'a connection that was closed' })));
  return {
    principal: principal?.name ?? 'anonymous',
    scopes: principal?.scopes ?? new Set(),
    workspaces: principal === undefined ? [] : principal.workspaces,
    signal: AbortSignal.any([gone.signal, stopping]),
    ...(verb.effect === 'read' ? lastEventIdOf(request) : idempotencyOf(request, reply)),
  };
}

/** Printable ASCII, so that a key reads the same in every log and store. */
const keyForm = /^[\x21-\x7e][\x20-\x7e]{0,254}$/;

/** ING-014: an act may come with a name by which its answer can be asked for again. */
function idempotencyOf(request: FastifyRequest, reply: FastifyReply): Pick<Caller, 'idempotency'> {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return {};
  if (typeof key !== 'string' || !keyForm.test(key))
    throw inputInvalid({
      member: 'Idempotency-Key',
      reason: 'must be 1 to 255 printable ASCII characters',
    });
  return {
    idempotency: { key, onReplayed: () => void reply.header('idempotency-replayed', 'true') },
  };
}

/** Of a client that comes back to a stream; a longer one is none of ours. */
function lastEventIdOf({ headers }: FastifyRequest): Pick<Caller, 'lastEventId'> {
  const id = headers['last-event-id'];
  return typeof id === 'string' && id.length > 0 && id.length <= 64 ? { lastEventId: id } : {};
}

function sendResult(verb: Verb, result: unknown, reply: FastifyReply): FastifyReply {
  if (verb.output.kind === 'stream') {
    // A proxy that gathers or keeps answers would hold events back.
    if (verb.output.mediaType === 'text/event-stream')
      void reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no');
    return reply
      .header('content-type', verb.output.mediaType)
      .send(Readable.from(result as AsyncIterable<Uint8Array>, { objectMode: false }));
  }
  return reply
    .code(verb.http.status ?? 200)
    .header('content-type', jsonType)
    .send(JSON.stringify(result));
}
