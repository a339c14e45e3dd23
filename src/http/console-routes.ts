import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { consoleHeaders, type Console } from '#console';
import { checkAddressed } from './doors/admit-request.ts';
import { routeUnknown } from './errors.ts';
import type { HttpServerOptions } from './server-options.ts';

/**
 * `/` and `/console/…`: the pages are the same for everybody and hold nothing, so they need no token; what they show comes over the routes of the
 * API, which do.
 */
export function addConsoleRoutes(
  app: FastifyInstance,
  pages: Console,
  { access }: HttpServerOptions,
): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    checkAddressed(request, access);
    const [path = ''] = request.url.split('?', 1);
    const file = await pages.file(path);
    if (file === undefined) throw routeUnknown({ method: request.method });
    void reply
      .headers(consoleHeaders)
      .header('cache-control', 'no-cache')
      .header('etag', file.etag);
    void reply.header('vary', 'accept-encoding');
    if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
    void reply.header('content-type', file.mediaType);
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(file.bytes);
    return reply.header('content-encoding', 'gzip').send(file.gzipped);
  };
  for (const url of ['/', '/console/*']) app.get(url, { exposeHeadRoute: true }, handler);
}
