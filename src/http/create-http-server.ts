import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf, type Clock, type Timer } from '#base';
import { draining } from '#queue';
import { daemonNoticed } from '#signals';
import { checkAddressed } from './doors/admit-request.ts';
import { answerClientError } from './failures/client-error.ts';
import { addConsoleRoutes } from './console-routes.ts';
import { listenFailed, routeUnknown } from './errors.ts';
import { cloudEventStyle, isCloudRequest } from './doors/cloud-event-style.ts';
import type { AskedEvents } from './doors/asked-events.ts';
import { EventDoor } from './doors/event-door.ts';
import { addEventRoutes, isPlainEvents } from './doors/event-routes.ts';
import { ForeignDoor } from './doors/foreign-door.ts';
import { addForeignRoutes } from './doors/foreign-routes.ts';
import { FastPath } from './fast-path/fast-path.ts';
import { addProbeRoutes } from './probe-routes.ts';
import type { WaitingMessage } from './doors/request-state.ts';
import { sendFailure } from './failures/send-failure.ts';
import { timeoutsDefault, type HttpServerOptions } from './server-options.ts';
import { addVerbRoutes } from './verb-routes.ts';
import { addWebhookHandshake } from './webhook-handshake.ts';

export type { HttpServerOptions, HttpTimeouts } from './server-options.ts';

export interface HttpServer {
  /** For injected requests of tests. */
  readonly app: FastifyInstance;
  /** Port 0 lets the system choose; throws LISTEN_FAILED. */
  listen(address: {
    readonly host: string;
    readonly port: number;
  }): Promise<{ readonly url: string }>;
  /** Takes no connection any more, lets requests in flight be answered, cuts what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Longest part of a path: a session id of 512 bytes, percent-encoded, is 1536 (ING-019). */
const paramLengthMax = 2048;

/** The public HTTP server, all routes mounted; it does not listen yet. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { chance, clock } = options;
  const stopping = new AbortController();
  const nextId = requestIds(Buffer.from(chance.bytes(4)).toString('hex'));
  const app = createApp(options, nextId);
  app.decorateRequest('state');
  app.removeAllContentTypeParsers();
  app.setErrorHandler((error, request, reply) => sendFailure(error, request, reply, { chance }));
  app.setNotFoundHandler((request) => {
    checkAddressed(request, options.access);
    throw routeUnknown({ method: request.method });
  });
  const door = new EventDoor(options);
  const foreign = new ForeignDoor(options);
  const serve = (asked: AskedEvents): void => {
    if (isCloudRequest(asked.request.headers)) foreign.serve(asked, cloudEventStyle);
    else door.serve(asked);
  };
  addEventRoutes(app, serve);
  addForeignRoutes(app, foreign, options.traces);
  addWebhookHandshake(app, options.access);
  app.register((inner, _, done) => {
    addVerbRoutes(inner, options, stopping.signal);
    addProbeRoutes(inner, options);
    if (options.console !== undefined) addConsoleRoutes(inner, options.console, options);
    done();
  });
  if (options.connectionsMax !== undefined)
    limitConnections(app, options.connectionsMax, () => clock.monotonic());
  let isClosing = false;
  app.server.removeAllListeners('request');
  app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { url = '' } = request;
    // Fastify tells connections that are about to be closed.
    if (isClosing || !isPlainEvents(request)) app.routing(request, response);
    else serve({ request, headers: request.headers, response, id: nextId(), url, route: url });
  });
  // With a listener of its own, "100 Continue" is said when the body is wanted, and a refusal comes before it (ING-914).
  app.server.on('checkContinue', (request: WaitingMessage, response: ServerResponse) => {
    request.sayContinue = () => response.writeContinue();
    app.routing(request, response);
  });
  const fastPath =
    options.fastPath === false
      ? undefined
      : new FastPath(app.server, {
          clock,
          checkMs: options.timeouts?.checkMs ?? timeoutsDefault.checkMs,
          nextId,
          serve: (asked, body) => door.serveWhole(asked, body),
        });
  return {
    app,
    listen: (address) => listen(app, address),
    async close(graceMs) {
      isClosing = true;
      stopping.abort(draining({ what: 'the daemon' }));
      fastPath?.close();
      const stopCutting = cutConnections({ app, fastPath }, clock, graceMs);
      await app.close();
      stopCutting();
    },
  };
}

const dropsToldMs = 60_000;

/** Sockets and files share the descriptors of the process: without a limit a crowd of clients leaves none for the journal, and nothing goes on. */
function limitConnections(app: FastifyInstance, most: number, monotonicMs: () => number): void {
  app.server.maxConnections = most;
  let toldAtMs = Number.NEGATIVE_INFINITY;
  app.server.on('drop', () => {
    const nowMs = monotonicMs();
    if (nowMs - toldAtMs < dropsToldMs) return;
    toldAtMs = nowMs;
    daemonNoticed.publish(() => ({
      code: 'CONNECTIONS_FULL',
      message: `a connection was closed unheard because ${most} are open: let clients reuse theirs, or raise http.max_connections and the limit of open files`,
    }));
  });
}

/** How often connections that have become idle are looked for while the server closes. */
const idleCheckMs = 50;

/**
 * Closes connections as soon as their last answer is sent (they were told to be kept when it began), and all of them after `graceMs`; returns
 * the function that ends it.
 */
function cutConnections(
  { app, fastPath }: { readonly app: FastifyInstance; readonly fastPath: FastPath | undefined },
  clock: Clock,
  graceMs: number,
): () => void {
  let timer: Timer | undefined;
  const again = (leftMs: number): void => {
    timer = clock.after(Math.min(idleCheckMs, leftMs), () => {
      if (leftMs <= idleCheckMs) {
        fastPath?.cut();
        app.server.closeAllConnections();
        return;
      }
      app.server.closeIdleConnections();
      fastPath?.close();
      again(leftMs - idleCheckMs);
    });
  };
  again(graceMs);
  return () => timer?.cancel();
}

function createApp(options: HttpServerOptions, nextId: () => string): FastifyInstance {
  const { chance } = options;
  const timeouts = { ...timeoutsDefault, ...options.timeouts };
  return fastify({
    logger: false,
    routerOptions: { maxParamLength: paramLengthMax },
    exposeHeadRoutes: false,
    genReqId: nextId,
    // Its own 503 while closing has no Retry-After (ING-022); ours comes from ingest and from the verbs.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    keepAliveTimeout: timeouts.keepAliveMs,
    requestTimeout: timeouts.requestMs,
    http: {
      headersTimeout: timeouts.headersMs,
      connectionsCheckingInterval: timeouts.checkMs,
    },
    clientErrorHandler: (error, socket) => {
      answerClientError(error, socket, { requestId: nextId(), chance });
    },
    frameworkErrors: (error, request, reply) => {
      sendFailure(error, request as FastifyRequest, reply as FastifyReply, { chance });
    },
  });
}

/** Short, and different in every start, so that a log of several starts can be searched. */
function requestIds(start: string): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `${start}-${count}`;
  };
}

async function listen(
  app: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<{ readonly url: string }> {
  try {
    // For `localhost` Fastify would open a second server beside this one, without our handlers.
    await app.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port });
  } catch (error) {
    throw listenFailed({ address: `${host}:${port}`, reason: messageOf(error) }, error);
  }
  const bound = app.server.address();
  const boundPort = typeof bound === 'object' && bound !== null ? bound.port : port;
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}` };
}
