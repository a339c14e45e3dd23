import type { FastifyReply, FastifyRequest } from 'fastify';
import { AssertionFailed, type Chance } from '#base';
import { daemonNoticed, requestFinished } from '#signals';
import { describeFailure, type Failure } from './describe-failure.ts';
import { envelope, isPredecessorPath } from './envelope.ts';
import { internalError } from './errors.ts';

export const jsonType = 'application/json; charset=utf-8';

export interface FailureOptions {
  readonly chance: Chance;
  /** The request carried events. */
  readonly isIngest?: boolean;
}

/** Answers a request with the error that ended it; the one place that does. */
export function sendFailure(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { chance, isIngest = false }: FailureOptions,
): void {
  const failure = describeFailure(error, { requestId: request.id, isIngest, chance });
  if (failure.code === internalError.code) reportDefect(error, request.id);
  if (isIngest) publishFailure(failure, request);
  if (reply.sent) return;
  for (const [name, value] of headersOf(failure)) void reply.header(name, value);
  const isPredecessor = isPredecessorPath(request.url);
  void reply
    .code(failure.status)
    .header('content-type', jsonType)
    .send(envelope(failure, { id: request.id, isPredecessor }));
}

function headersOf({ status, retryAfterSeconds }: Failure): [string, string][] {
  if (retryAfterSeconds !== undefined) return [['retry-after', String(retryAfterSeconds)]];
  if (status === 401) return [['www-authenticate', 'Bearer realm="millrace"']];
  if (status === 415) return [['accept-encoding', 'gzip, identity']];
  return [];
}

function publishFailure({ status, code }: Failure, request: FastifyRequest): void {
  requestFinished.publish(() => ({
    route: request.routeOptions.url ?? '',
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
