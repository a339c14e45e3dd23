import { Type } from 'typebox';
import { createAccess, openTokenStore, type NewToken, type TokenStore } from '#access';
import { systemClock } from '#base';
import type { Console } from '#console';
import { memoryDisk, stagingNames } from '#disk';
import { createHttpServer, type Health, type HttpServer, type HttpTimeouts } from '#http';
import { defineStreamVerb, defineVerb, type Caller, type OpsContext, type Verb } from '#ops';
import { seededChance } from '../support/chance.ts';
import { ingestBench, type BenchOptions, type IngestBench } from '../ingest/ingest-fixture.ts';

export interface HttpBench extends IngestBench {
  readonly server: HttpServer;
  readonly tokens: TokenStore;
  readonly health: { now: Health };
  /** Callers of the test's own verbs, newest last. */
  readonly callers: Caller[];
  /** Makes a token and returns the header that carries it. */
  header(token: NewToken): Promise<{ readonly authorization: string }>;
  request(request: TestRequest): Promise<TestAnswer>;
  close(): Promise<void>;
}

export interface TestRequest {
  readonly method?: 'GET' | 'POST' | 'DELETE' | 'HEAD' | 'PUT' | 'OPTIONS';
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number | readonly string[] | undefined>>;
  readonly text: string;
  /** The body as JSON; fails for one that is none. */
  readonly json: JsonAnswer;
}

/** All members that an answer may have; a test looks at those that it is about. */
export interface JsonAnswer extends Readonly<Record<string, unknown>> {
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly retry_after_ms?: number;
    readonly details?: { readonly errors?: readonly Record<string, unknown>[] };
  };
  readonly results?: readonly Record<string, unknown>[];
  readonly rejects?: readonly Record<string, unknown>[];
}

export interface HttpBenchOptions extends BenchOptions {
  readonly listenHost?: string;
  readonly allowedHosts?: readonly string[];
  readonly firstToken?: NewToken;
  readonly verbs?: readonly Verb[];
  /** What verbs run in; the test's own need nothing. */
  readonly context?: OpsContext;
  readonly timeouts?: Partial<HttpTimeouts>;
  readonly console?: Console;
  readonly fastPath?: boolean;
  readonly connectionsMax?: number;
}

const wellHealth: Health = { state: 'ready', isLive: true, isReady: true, reasons: [] };

export async function httpBench(options: HttpBenchOptions = {}): Promise<HttpBench> {
  const bench = ingestBench(options);
  const chance = seededChance(11);
  const disk = memoryDisk({ directories: ['/root'] });
  const names = stagingNames(1, chance);
  const path = '/root/tokens.json';
  const tokens = await openTokenStore({ disk, path, names, clock: bench.clock, chance });
  if (options.firstToken !== undefined) await tokens.add(options.firstToken);
  const access = createAccess({
    tokens,
    clock: bench.clock,
    mode: 'auto',
    listenHost: options.listenHost ?? '127.0.0.1',
    allowedHosts: options.allowedHosts ?? [],
    rootId: 'SR-here',
  });
  const health = { now: wellHealth };
  const callers: Caller[] = [];
  const server = createHttpServer({
    ingest: bench.ingest,
    access,
    verbs: options.verbs ?? testVerbs(callers),
    context: options.context ?? ({} as OpsContext),
    clock: systemClock,
    chance,
    health: () => health.now,
    metrics: {
      contentType: 'text/plain; version=0.0.4',
      metricsText: () => Promise.resolve('millrace_build_info 1\n'),
    },
    batchBytesMax: options.limits?.batchBytesMax ?? 1024 * 1024,
    ...(options.timeouts === undefined ? {} : { timeouts: options.timeouts }),
    ...(options.console === undefined ? {} : { console: options.console }),
    ...(options.fastPath === undefined ? {} : { fastPath: options.fastPath }),
    ...(options.connectionsMax === undefined ? {} : { connectionsMax: options.connectionsMax }),
  });
  return {
    ...bench,
    server,
    tokens,
    health,
    callers,
    async header(token) {
      return { authorization: `Bearer ${(await tokens.add(token)).token}` };
    },
    request: (request) => inject(server, request),
    close: () => server.close(1000),
  };
}

async function inject(server: HttpServer, request: TestRequest): Promise<TestAnswer> {
  const { method = 'POST', url = '/v1/events', headers = {}, body } = request;
  const answer = await server.app.inject({
    method,
    url,
    headers: {
      ...(body === undefined || 'content-type' in headers
        ? {}
        : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { payload: body as string }),
  });
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text: answer.body,
    get json() {
      return JSON.parse(answer.body) as JsonAnswer;
    },
  };
}

/** A read, a write, a stream and a wait, as room ops makes them. */
function testVerbs(callers: Caller[]): readonly Verb[] {
  return [
    defineVerb({
      name: 'echo',
      summary: 'answers its input',
      effect: 'read',
      scope: 'ops:read',
      input: Type.Object(
        {
          name: Type.String(),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
          dry_run: Type.Optional(Type.Boolean()),
        },
        { additionalProperties: false },
      ),
      output: Type.Unknown(),
      http: {
        method: 'GET',
        path: '/v1/echo/{name}',
        aliases: [
          { method: 'GET', path: '/echo/{name}' },
          { method: 'POST', path: '/v1/echo/{name}' },
        ],
      },
      run(_context, input, caller) {
        callers.push(caller);
        return Promise.resolve(input);
      },
    }),
    defineVerb({
      name: 'open',
      summary: 'anybody may ask',
      effect: 'read',
      scope: null,
      input: Type.Object({}, { additionalProperties: false }),
      output: Type.Unknown(),
      http: { method: 'GET', path: '/v1/status', aliases: [{ method: 'GET', path: '/status' }] },
      run(_context, _input, caller) {
        callers.push(caller);
        return Promise.resolve({ accepted: 0 });
      },
    }),
    defineStreamVerb({
      name: 'export',
      summary: 'a stream',
      effect: 'read',
      scope: 'ops:read',
      input: Type.Object({ fail: Type.Optional(Type.Boolean()) }),
      mediaType: 'application/x-ndjson',
      http: { method: 'GET', path: '/v1/export' },
      run: (_context, input) => Promise.resolve(lines(input.fail === true)),
    }),
    defineStreamVerb({
      name: 'events',
      summary: 'a stream that its caller may come back to',
      effect: 'read',
      scope: 'ops:read',
      input: Type.Object({}),
      mediaType: 'text/event-stream',
      http: { method: 'GET', path: '/v1/stream' },
      run(_context, _input, caller) {
        callers.push(caller);
        return Promise.resolve(lines(false));
      },
    }),
    defineVerb({
      name: 'wait',
      summary: 'waits for its caller to go',
      effect: 'read',
      scope: 'ops:read',
      input: Type.Object({}),
      output: Type.Unknown(),
      http: { method: 'GET', path: '/v1/wait' },
      run(_context, _input, caller) {
        callers.push(caller);
        return new Promise((_resolve, reject) => {
          caller.signal.addEventListener('abort', () => reject(caller.signal.reason as Error));
        });
      },
    }),
    defineVerb({
      name: 'defect',
      summary: 'throws what nobody expects',
      effect: 'read',
      scope: 'ops:read',
      input: Type.Object({}),
      output: Type.Unknown(),
      http: { method: 'GET', path: '/v1/defect' },
      run: () => Promise.reject(new TypeError('secret-payload is not a function')),
    }),
  ];
}

async function* lines(isFailing: boolean): AsyncGenerator<Uint8Array> {
  if (isFailing) throw new TypeError('before the first byte');
  for (let line = 0; line < 3; line += 1) {
    await Promise.resolve();
    yield Buffer.from(`{"line":${line}}\n`);
  }
}
