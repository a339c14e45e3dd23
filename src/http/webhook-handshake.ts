import type { FastifyInstance } from 'fastify';
import type { Access } from '#access';
import { checkAddressed } from './doors/admit-request.ts';

/** What an origin may look like: a DNS name, with a port or a scheme as some senders write it. */
const originForm = /^[\w.:/-]{1,255}$/;

/**
 * The handshake of HTTP webhooks for CloudEvents: whoever delivers asks by OPTIONS first whether it may. It may, at any rate; who may post is said by
 * tokens, and 429 slows a sender down. `WebHook-Request-Callback` is not called: a daemon fetches no URL of a stranger.
 */
export function addWebhookHandshake(app: FastifyInstance, access: Access): void {
  for (const path of ['/v1/events', '/v1/sessions/:session/events'])
    app.options(path, (request, reply) => {
      checkAddressed(request, access);
      reply.header('allow', 'POST, OPTIONS');
      const origin = request.headers['webhook-request-origin'];
      if (typeof origin !== 'string' || !originForm.test(origin)) return reply.code(204).send();
      return reply
        .code(200)
        .header('webhook-allowed-origin', origin)
        .header('webhook-allowed-rate', '*')
        .send();
    });
}
