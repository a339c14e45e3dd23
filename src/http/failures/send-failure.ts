import type { FastifyReply, FastifyRequest } from 'fastify';
import { AssertionFailed, type Chance } from '#base';
import { daemonNoticed, requestFinished } from '#signals';
import type { AnswerHeaders, EventsResponse } from '../doors/asked-events.ts';
import { describeFailure, type Failure, type FailureContext } from './describe-failure.ts';
import { envelope, isPredecessorPath } from './envelope.ts';
import { internalError } from '../errors.ts';

export const jsonType = 'application/json; charset=utf-8';

export interface FailureOptions {
  readonly chance: Chance;
}

/** Answers a request with the error that ended it. */
export function sendFailure(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { chance }: FailureOptions,
): void {
  const failure = failureOf(error, { requestId: request.id, isIngest: false, chance });
  if (reply.sent) return;
  for (const [name, value] of headersOf(failure)) void reply.header(name, value);
  const isPredecessor = isPredecessorPath(request.url);
  void reply
    .code(failure.status)
    .header('content-type', jsonType)
    .send(envelope(failure, { id: request.id, isPredecessor }));
}

/** The same for a request with events, whose answer is written without the framework. */
export function writeFailure(
  error: unknown,
  { id, url, route, response }: FailedEvents,
  chance: Chance,
  headers: AnswerHeaders,
  inOwnWords?: (
    failure: Failure,
  ) => { readonly contentType?: string; readonly body: string | Uint8Array } | undefined,
): void {
  const failure = failureOf(error, { requestId: id, isIngest: true, chance });
  publishFailure(failure, route);
  if (response.headersSent) return;
  const own = inOwnWords?.(failure);
  const body = own?.body ?? envelope(failure, { id, isPredecessor: isPredecessorPath(url) });
  response
    .writeHead(failure.status, {
      ...headers,
      ...Object.fromEntries(headersOf(failure)),
      'content-type': own?.contentType ?? jsonType,
      'content-length': Buffer.byteLength(body),
    })
    .end(body);
}

export interface FailedEvents {
  readonly id: string;
  readonly url: string;
  readonly route: string;
  readonly response: EventsResponse;
}

function failureOf(error: unknown, context: FailureContext): Failure {
  const failure = describeFailure(error, context);
  if (failure.code === internalError.code) reportDefect(error, context.requestId);
  return failure;
}

function headersOf({ status, retryAfterSeconds }: Failure): [string, string][] {
  if (retryAfterSeconds !== undefined) return [['retry-after', String(retryAfterSeconds)]];
  if (status === 401) return [['www-authenticate', 'Bearer realm="millrace"']];
  if (status === 415) return [['accept-encoding', 'gzip, identity']];
  return [];
}

function publishFailure({ status, code }: Failure, route: string): void {
  requestFinished.publish(() => ({
    route,
    status,
    accepted: 0,
    duplicates: 0,
    rejected: { [code]: 1 },
    bodyBytes: 0,
    durationMs: 0,
  }));
}

/** Frames of the stack that are told. */
const framesMax = 6;

/** Without the message of a foreign error: it may quote what was sent. */
function reportDefect(error: unknown, requestId: string): void {
  daemonNoticed.publish(() => {
    const words = error instanceof AssertionFailed ? `: ${error.message}` : '';
    const name = error instanceof Error ? error.name : typeof error;
    const stack = error instanceof Error ? (error.stack ?? '') : '';
    const frames = stack
      .split('\n')
      .filter((line) => line.startsWith('    at '))
      .slice(0, framesMax)
      .map((line) => line.trim());
    return {
      code: internalError.code,
      message: `request ${requestId} met a defect of the program: ${name}${words} ${frames.join(' ')}`,
    };
  });
}
