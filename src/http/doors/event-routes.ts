import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import type { AskedEvents } from './asked-events.ts';

/** Asked as they stand here, without a query, these go to the door at once; looking for their route costs as much as checking an event. */
const plainPaths: ReadonlySet<string> = new Set(['/v1/events', '/events']);

/** Whether a request need not be routed to know that it carries events. */
export function isPlainEvents({ method, url }: IncomingMessage): boolean {
  return method === 'POST' && url !== undefined && plainPaths.has(url);
}

/** The same door behind the router, for what has a query or names its session in the path. */
export function addEventRoutes(app: FastifyInstance, serve: (asked: AskedEvents) => void): void {
  const onRequest = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack();
    serve({
      request: request.raw,
      headers: request.raw.headers,
      response: reply.raw,
      id: request.id,
      url: request.url,
      route: request.routeOptions.url ?? '',
      session: (request.params as { session?: string }).session,
      query: request.query as Readonly<Record<string, unknown>>,
    });
  };
  for (const path of ['/v1/events', '/v1/sessions/:session/events', '/events'])
    app.post(path, { onRequest }, neverReached);
}

function neverReached(): never {
  throw new Error('the door has taken the request');
}
