import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { claudeHookStyle } from './claude-hook-style.ts';
import { otlpStyle } from './otlp-style.ts';
import { TraceSessions } from '#formats';
import type { DoorStyle } from './door-style.ts';
import type { ForeignDoor } from './foreign-door.ts';

/** Routes of other protocols, each with how it is spoken. */
function stylesByPath(known: TraceSessions): Readonly<Record<string, DoorStyle>> {
  return {
    '/v1/hooks/claude-code': claudeHookStyle,
    '/v1/traces': otlpStyle('traces', known),
    '/v1/logs': otlpStyle('logs', known),
    '/v1/metrics': otlpStyle('metrics', known),
  };
}

export function addForeignRoutes(
  app: FastifyInstance,
  door: ForeignDoor,
  traces: TraceSessions = new TraceSessions(),
): void {
  for (const [path, style] of Object.entries(stylesByPath(traces))) {
    const onRequest = (request: FastifyRequest, reply: FastifyReply): void => {
      reply.hijack();
      door.serve(
        {
          request: request.raw,
          headers: request.raw.headers,
          response: reply.raw,
          id: request.id,
          url: request.url,
          route: path,
          query: request.query as Readonly<Record<string, unknown>>,
        },
        style,
      );
    };
    app.post(path, { onRequest }, neverReached);
  }
}

function neverReached(): never {
  throw new Error('the door has taken the request');
}
