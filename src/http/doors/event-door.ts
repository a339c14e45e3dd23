import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Principal } from '#access';
import { recordNotJson, type BodyForm, type IngestAnswer, type IngestRequest } from '#ingest';
import { requestFinished } from '#signals';
import { admitSender } from './admit-request.ts';
import { isPredecessorPath } from '../failures/envelope.ts';
import { inputInvalid } from '../errors.ts';
import { eventsReply } from './events-reply.ts';
import { bodyForm, isGzipped } from './media-type.ts';
import { eventLimits, readBody, type BodyLimits } from './read-body.ts';
import type { WaitingMessage } from './request-state.ts';
import { jsonType, writeFailure } from '../failures/send-failure.ts';
import type { HttpServerOptions } from '../server-options.ts';

/** A request with events, before anything of it was looked at. */
export interface AskedEvents {
  readonly request: WaitingMessage;
  readonly response: ServerResponse;
  /** Told in the answer, and in the log. */
  readonly id: string;
  /** As it was asked. */
  readonly url: string;
  /** The pattern of its route, for the metrics. */
  readonly route: string;
  /** Session id of the path. */
  readonly session?: string | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Takes requests with events off Node's own request and writes the answer onto its response: the body stays bytes, and no schema, hook or
 * serialiser stands on its way (ING-911, ING-941). Every request is answered here, whatever happens to it.
 */
export class EventDoor {
  readonly #options: HttpServerOptions;
  readonly #limits: BodyLimits;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#limits = eventLimits(options);
  }

  /** Whether and whose it is is known before a byte of its body is read. */
  serve(asked: AskedEvents): void {
    const { request } = asked;
    let principal: Principal;
    try {
      principal = admitSender(request.headers, this.#options.access);
      if (hasNoBody(request.headers)) throw recordNotJson({ reason: 'the body is empty' });
    } catch (error) {
      this.#fail(error, asked);
      return;
    }
    this.#read(asked, principal);
  }

  /** A request that is refused by its head is read to its end all the same, into nothing. */
  #read(asked: AskedEvents, principal: Principal): void {
    const { request: payload } = asked;
    let form: BodyForm = 'json';
    let isPacked = false;
    let refusal: Error | undefined;
    try {
      form = bodyForm(payload.headers['content-type']);
      isPacked = isGzipped(payload.headers['content-encoding']);
      this.#options.ingest.checkSize(Number(payload.headers['content-length'] ?? 0));
    } catch (error) {
      refusal = error as Error;
    }
    readBody({ payload, isPacked, limits: this.#limits, refusal }, (error, body) => {
      // The client may send more, and nobody would read it as a request.
      if (body === undefined) this.#fail(error, asked, { connection: 'close' });
      else void this.#answer(asked, principal, form, body);
    });
  }

  /** The answer is sent when the records are durable, whether or not anybody still listens (ING-917). */
  async #answer(
    asked: AskedEvents,
    principal: Principal,
    form: BodyForm,
    { bytes, reservedBytes }: { readonly bytes: Uint8Array; readonly reservedBytes: number },
  ): Promise<void> {
    const { ingest, clock } = this.#options;
    const beganMs = clock.monotonic();
    try {
      const answered = await ingest.accept(ingestRequest(asked, principal, form, bytes));
      const status = send(answered, asked);
      publishAnswer(answered, {
        route: asked.route,
        status,
        bodyBytes: bytes.byteLength,
        durationMs: clock.monotonic() - beganMs,
      });
    } catch (error) {
      this.#fail(error, asked);
    } finally {
      ingest.release(reservedBytes);
    }
  }

  #fail(error: unknown, asked: AskedEvents, headers: OutgoingHttpHeaders = {}): void {
    writeFailure(error, asked, this.#options.chance, headers);
  }
}

/** Neither says that something follows; a body without a type is refused for its type. */
export function hasNoBody(headers: IncomingHttpHeaders): boolean {
  return (
    headers['content-type'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    Number(headers['content-length'] ?? 0) === 0
  );
}

function ingestRequest(
  { request, session, query }: AskedEvents,
  principal: Principal,
  form: BodyForm,
  body: Uint8Array,
): IngestRequest {
  return {
    body,
    form,
    principal,
    session,
    idempotencyKey: idempotencyKey(request.headers['idempotency-key']),
    isAtomic: query !== undefined && flag(query, 'atomic'),
  };
}

/** Node reads header bytes as Latin-1; an id beyond ASCII is UTF-8 there as it is in a body. */
function idempotencyKey(header: string | readonly string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  return /^[ -~]*$/.test(header) ? header : Buffer.from(header, 'latin1').toString('utf8');
}

function flag(query: Readonly<Record<string, unknown>>, name: string): boolean {
  const value = query[name];
  if (value === undefined || value === 'false') return false;
  if (value === 'true' || value === '') return true;
  throw inputInvalid({ member: name, reason: 'must be true or false' });
}

function send(answered: IngestAnswer, { id, url, response }: AskedEvents): number {
  const { status, isReplayed, body } = eventsReply(answered, {
    requestId: id,
    isPredecessor: isPredecessorPath(url),
  });
  const headers: Record<string, string | number> = {
    'content-type': jsonType,
    'content-length': Buffer.byteLength(body),
  };
  if (isReplayed) headers['idempotency-replayed'] = 'true';
  if (answered.isQuarantined) headers['x-session-state'] = 'quarantined';
  response.writeHead(status, headers).end(body);
  return status;
}

export function publishAnswer(
  answered: IngestAnswer,
  told: {
    readonly route: string;
    readonly status: number;
    readonly bodyBytes: number;
    readonly durationMs: number;
  },
): void {
  requestFinished.publish(() => {
    const rejected: Record<string, number> = {};
    for (const { code } of answered.rejects) rejected[code] = (rejected[code] ?? 0) + 1;
    return {
      ...told,
      accepted: answered.queuedCount,
      duplicates: answered.duplicateCount,
      rejected,
    };
  });
}
