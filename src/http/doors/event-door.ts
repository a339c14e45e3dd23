import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '#access';
import { recordNotJson, type BodyForm, type IngestAnswer, type IngestRequest } from '#ingest';
import { requestFinished } from '#signals';
import { admitSender } from './admit-request.ts';
import type { AnswerHeaders, AskedEvents, AskedHead } from './asked-events.ts';
import { isPredecessorPath } from '../failures/envelope.ts';
import { inputInvalid } from '../errors.ts';
import { eventsReply } from './events-reply.ts';
import { bodyForm, isGzipped } from './media-type.ts';
import { eventLimits, holdWhole, readBody, type BodyLimits, type ReadBody } from './read-body.ts';
import { jsonType, writeFailure } from '../failures/send-failure.ts';
import type { HttpServerOptions } from '../server-options.ts';

/**
 * Takes requests with events off Node's own request, or off the fast path, and writes the answer onto its response: the body stays bytes, and no
 * schema, hook or serialiser stands on its way (ING-911, ING-941). Every request is answered here, whatever happens to it.
 */
export class EventDoor {
  readonly #options: HttpServerOptions;
  readonly #limits: BodyLimits;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#limits = eventLimits(options);
  }

  /** Whether and whose it is is known before a byte of its body is read. A request that is refused by its head is read to its end all the same, into nothing. */
  serve(asked: AskedEvents): void {
    const principal = this.#admit(asked);
    if (principal === undefined) return;
    const { form, isPacked, refusal } = this.#judge(asked);
    readBody({ payload: asked.request, isPacked, limits: this.#limits, refusal }, (error, body) => {
      if (body === undefined) this.#fail(error, asked, lastAnswer);
      else void this.#answer(asked, principal, form, body);
    });
  }

  /** The same for a body that came with its head, and is not packed. */
  serveWhole(asked: AskedHead, bytes: Uint8Array): void {
    const principal = this.#admit(asked);
    if (principal === undefined) return;
    const { form, refusal } = this.#judge(asked);
    let body: ReadBody;
    try {
      if (refusal !== undefined) throw refusal;
      body = holdWhole(bytes, this.#limits);
    } catch (error) {
      this.#fail(error, asked, lastAnswer);
      return;
    }
    void this.#answer(asked, principal, form, body);
  }

  /** Undefined: it is answered already. */
  #admit(asked: AskedHead): Principal | undefined {
    try {
      const principal = admitSender(asked.headers, this.#options.access);
      if (hasNoBody(asked.headers)) throw recordNotJson({ reason: 'the body is empty' });
      return principal;
    } catch (error) {
      this.#fail(error, asked);
      return undefined;
    }
  }

  /** How the body is to be read, or why not. */
  #judge({ headers }: AskedHead): {
    readonly form: BodyForm;
    readonly isPacked: boolean;
    readonly refusal: Error | undefined;
  } {
    try {
      const form = bodyForm(headers['content-type']);
      const isPacked = isGzipped(headers['content-encoding']);
      this.#options.ingest.checkSize(Number(headers['content-length'] ?? 0));
      return { form, isPacked, refusal: undefined };
    } catch (error) {
      return { form: 'json', isPacked: false, refusal: error as Error };
    }
  }

  /** The answer is sent when the records are durable, whether or not anybody still listens (ING-917). */
  async #answer(
    asked: AskedHead,
    principal: Principal,
    form: BodyForm,
    { bytes, reservedBytes }: ReadBody,
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

  #fail(error: unknown, asked: AskedHead, headers: AnswerHeaders = {}): void {
    writeFailure(error, asked, this.#options.chance, headers);
  }
}

/** The client may send more, and nobody would read it as a request. */
const lastAnswer: AnswerHeaders = { connection: 'close' };

/** Neither says that something follows; a body without a type is refused for its type. */
export function hasNoBody(headers: IncomingHttpHeaders): boolean {
  return (
    headers['content-type'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    Number(headers['content-length'] ?? 0) === 0
  );
}

function ingestRequest(
  { headers, session, query }: AskedHead,
  principal: Principal,
  form: BodyForm,
  body: Uint8Array,
): IngestRequest {
  return {
    body,
    form,
    principal,
    session,
    idempotencyKey: idempotencyKey(headers['idempotency-key']),
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

function send(answered: IngestAnswer, { id, url, response }: AskedHead): number {
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
