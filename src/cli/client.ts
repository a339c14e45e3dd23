import { rootOther } from '#access';
import { messageOf } from '#base';
import { daemonUnreachable, errorOfAnswer } from './errors.ts';

/** Where a verb's HTTP form lives, as far as a caller needs it. */
export interface Route {
  readonly method: string;
  /** With `{name}` for members that stand in the path. */
  readonly path: string;
}

export interface ClientOptions {
  readonly url: string;
  readonly token?: string | undefined;
  /** The root that must be served there: each request says it, and a daemon of another one refuses (ROOT_OTHER). */
  readonly root?: { readonly path: string; readonly id: string } | undefined;
}

/** Speaks the public HTTP API, and nothing else, to a running daemon. */
export interface Client {
  readonly url: string;
  /** Calls a route with the members of `input` where they belong; rejects with the error that the answer stands for. */
  call(
    route: Route,
    input: Readonly<Record<string, unknown>>,
    headers?: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<unknown>;
  /** As `call`, for answers that are streams of bytes. */
  stream(
    route: Route,
    input: Readonly<Record<string, unknown>>,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** One raw request; never rejects for a status. */
  send(
    method: string,
    path: string,
    body?: Uint8Array,
    headers?: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Response>;
}

/** The request is for another server (RFC 9110). */
const misdirected = 421;

interface ErrorBody {
  readonly error?: {
    readonly code?: string;
    readonly message?: string;
    readonly details?: unknown;
  };
}

async function failureOf(response: Response): Promise<Error> {
  const text = await response.text();
  let body: ErrorBody = {};
  try {
    body = JSON.parse(text) as ErrorBody;
  } catch {
    body = { error: { code: 'ANSWER_UNREADABLE', message: text.slice(0, 200) } };
  }
  const code = body.error?.code ?? 'ANSWER_UNREADABLE';
  const message = body.error?.message ?? `the daemon answered ${response.status}`;
  return errorOfAnswer(response.status, code, message, body.error?.details);
}

/** Puts members into the path, and the rest into the query or the body, as the method asks. */
export function placeInput(
  route: Route,
  input: Readonly<Record<string, unknown>>,
): { readonly path: string; readonly body: string | undefined } {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const path = route.path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = rest.get(name);
    rest.delete(name);
    return encodeURIComponent(String(value));
  });
  if (route.method !== 'GET' && route.method !== 'DELETE')
    return { path, body: JSON.stringify(Object.fromEntries(rest)) };
  const query = new URLSearchParams(
    [...rest].map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return { path: query === '' ? path : `${path}?${query}`, body: undefined };
}

export function createClient(options: ClientOptions): Client {
  const base = options.url.replace(/\/+$/, '');
  const fixed = {
    ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
    ...(options.root === undefined ? {} : { 'millrace-root': options.root.id }),
  };
  async function send(
    method: string,
    path: string,
    body?: Uint8Array,
    headers: Readonly<Record<string, string>> = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(`${base}${path}`, {
        method,
        headers: { ...headers, ...fixed },
        redirect: 'error',
        ...(signal === undefined ? {} : { signal }),
        ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
      });
    } catch (error) {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      throw daemonUnreachable({ url: base, reason: messageOf(cause) }, cause);
    }
    await refuseOtherRoot(response, options);
    return response;
  }
  async function succeed(
    route: Route,
    input: Readonly<Record<string, unknown>>,
    headers: Readonly<Record<string, string>> = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    const { path, body } = placeInput(route, input);
    const typed = body === undefined ? headers : { ...headers, 'content-type': 'application/json' };
    const bytes = body === undefined ? undefined : Buffer.from(body);
    const response = await send(route.method, path, bytes, typed, signal);
    if (!response.ok) throw await failureOf(response);
    return response;
  }
  return {
    url: base,
    send,
    async call(route, input, headers, signal) {
      const response = await succeed(route, input, headers, signal);
      const text = await response.text();
      return text === '' ? undefined : (JSON.parse(text) as unknown);
    },
    async stream(route, input) {
      const response = await succeed(route, input);
      return (response.body ?? emptyStream()) as AsyncIterable<Uint8Array>;
    },
  };
}

/** Throws ROOT_OTHER, with the names that the caller used, where the daemon refused for that. */
async function refuseOtherRoot(response: Response, { url, root }: ClientOptions): Promise<void> {
  if (response.status !== misdirected || root === undefined) return;
  const failure = await failureOf(response.clone());
  if (rootOther.is(failure)) throw rootOther({ who: `the daemon at ${url}`, root: root.path });
}

async function* emptyStream(): AsyncGenerator<Uint8Array> {
  // An answer without a body is an empty export.
}

/**
 * A client that looks anew at each call where its daemon is: for who goes on for hours, while the daemon of a root comes, goes, and comes back at another
 * address. Made while there is none, it is told so by its calls.
 */
export function lateClient(find: () => Client): Client {
  return {
    get url() {
      return find().url;
    },
    call: async (...given) => find().call(...given),
    stream: async (...given) => find().stream(...given),
    send: async (...given) => find().send(...given),
  };
}
