import type { FastifyInstance, FastifyReply, onRequestHookHandler } from 'fastify';
import { requireScope } from '#access';
import { admitCaller } from './doors/admit-request.ts';
import type { Health } from './health.ts';
import { jsonType } from './failures/send-failure.ts';
import type { HttpServerOptions } from './server-options.ts';

/** A prober that is told "no" may come back soon. */
const probeRetrySeconds = '1';

/** `/livez`, `/readyz`, `/healthz` and `/metrics` at the top level (ING-948, D29). */
export function addProbeRoutes(app: FastifyInstance, options: HttpServerOptions): void {
  const { health, access, metrics } = options;
  const probe = (path: string, isWell: (now: Health) => boolean): void => {
    app.get(
      path,
      { config: { isProbe: true, isOpen: true }, exposeHeadRoute: true },
      (_, reply) => {
        const now = health();
        sendHealth(now, isWell(now), reply);
      },
    );
  };
  probe('/livez', ({ isLive }) => isLive);
  probe('/readyz', ({ isReady }) => isReady);
  probe('/healthz', ({ isLive, isReady }) => isLive && isReady);
  const isOpen = access.isLoopbackListener;
  const onRequest: onRequestHookHandler = (request, _reply, done) => {
    admitCaller(request, access, isOpen);
    if (!isOpen && request.state.principal !== undefined)
      requireScope(request.state.principal, 'ops:read');
    done();
  };
  app.get('/metrics', { onRequest }, async (_, reply) =>
    reply.header('content-type', metrics.contentType).send(await metrics.metricsText()),
  );
}

function sendHealth({ state, reasons }: Health, isWell: boolean, reply: FastifyReply): void {
  if (!isWell) void reply.header('retry-after', probeRetrySeconds);
  void reply
    .code(isWell ? 200 : 503)
    .header('content-type', jsonType)
    .header('cache-control', 'no-store')
    .send(JSON.stringify({ status: isWell ? 'ok' : 'unavailable', state, reasons }));
}
