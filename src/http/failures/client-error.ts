import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Chance, MillraceError } from '#base';
import { describeFailure } from './describe-failure.ts';
import { envelope } from './envelope.ts';
import { requestInterrupted, requestMalformed } from '../errors.ts';
import { jsonType } from './send-failure.ts';

/**
 * Answers what Node's HTTP parser gave up on, in the place of its own answers: it would say 408 to a slow client, on which clients drop data
 * (ING-022). The connection is closed in any case.
 */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  context: { readonly requestId: string; readonly chance: Chance },
): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isMidResponse(socket)) {
    socket.destroy();
    return;
  }
  const failure = describeFailure(classify(error.code), { ...context, isIngest: true });
  const isTooLong = error.code === 'HPE_HEADER_OVERFLOW';
  const status = isTooLong ? 431 : failure.status;
  const body = envelope(failure, { id: context.requestId, isPredecessor: true });
  const retry =
    failure.retryAfterSeconds === undefined ? '' : `Retry-After: ${failure.retryAfterSeconds}\r\n`;
  socket.end(
    `HTTP/1.1 ${status} ${status === 503 ? 'Service Unavailable' : 'Bad Request'}\r\n${retry}Content-Type: ${jsonType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

function classify(code: string | undefined): MillraceError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return requestInterrupted({ reason: 'it took too long' });
  return code === 'HPE_HEADER_OVERFLOW'
    ? requestMalformed({ reason: 'its headers are too long' })
    : requestMalformed({ reason: `it is not HTTP/1.1 (${code ?? 'unknown'})` });
}

/**
 * An answer has begun, or the request on the connection is whole and its answer is still to come: a second answer would be taken for its own.
 * Node keeps the response in progress on the socket.
 */
function isMidResponse(socket: Socket): boolean {
  const { _httpMessage: response } = socket as { _httpMessage?: ServerResponse | null };
  if (response === undefined || response === null) return false;
  return response.headersSent || response.req.complete;
}
