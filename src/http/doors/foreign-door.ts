import type { Principal } from '#access';
import { recordNotJson, type IngestAnswer } from '#ingest';
import { admitSender } from './admit-request.ts';
import type { AnswerHeaders, AskedEvents } from './asked-events.ts';
import type { DoorStyle, ForeignEvents, ForeignReply } from './door-style.ts';
import { hasNoBody, publishAnswer } from './event-door.ts';
import { refusalReply } from './events-reply.ts';
import { isGzipped } from './media-type.ts';
import { eventLimits, readBody, type BodyLimits, type ReadBody } from './read-body.ts';
import { jsonType, writeFailure } from '../failures/send-failure.ts';
import type { HttpServerOptions } from '../server-options.ts';

/** The door of clients that speak another protocol than ours: the same admission and limits, their own words in and out. */
export class ForeignDoor {
  readonly #options: HttpServerOptions;
  readonly #limits: BodyLimits;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#limits = eventLimits(options);
  }

  /** Whether and whose it is is known before a byte of its body is read. */
  serve(asked: AskedEvents, style: DoorStyle): void {
    const { headers } = asked.request;
    try {
      const principal = admitSender(headers, this.#options.access);
      if (!hasNoBody(headers)) this.#read(asked, style, principal);
      else if (style.takesEmpty) void this.#answer(asked, style, principal, nothing);
      else throw recordNotJson({ reason: 'the body is empty' });
    } catch (error) {
      this.#fail(error, asked, style);
    }
  }

  /** A request that is refused by its head is read to its end all the same, into nothing. */
  #read(asked: AskedEvents, style: DoorStyle, principal: Principal): void {
    const { request: payload } = asked;
    let isPacked = false;
    let refusal: Error | undefined;
    try {
      style.checkType(payload.headers);
      isPacked = isGzipped(payload.headers['content-encoding']);
      this.#options.ingest.checkSize(Number(payload.headers['content-length'] ?? 0));
    } catch (error) {
      refusal = error as Error;
    }
    readBody({ payload, isPacked, limits: this.#limits, refusal }, (error, body) => {
      if (body === undefined) this.#fail(error, asked, style, { connection: 'close' });
      else void this.#answer(asked, style, principal, body);
    });
  }

  /** The answer is sent when the records are durable, whether or not anybody still listens (ING-917). */
  async #answer(
    asked: AskedEvents,
    style: DoorStyle,
    principal: Principal,
    { bytes, reservedBytes }: ReadBody,
  ): Promise<void> {
    const { ingest, clock } = this.#options;
    const { headers } = asked.request;
    const beganMs = clock.monotonic();
    try {
      const time = new Date(clock.now()).toISOString();
      const query = asked.query ?? {};
      const events = style.read({ headers, query, body: bytes, principal, time });
      const answer = await this.#store(events, principal, asked.session);
      const status = this.#send(asked, style, answer, events);
      if (answer === undefined) return;
      const durationMs = clock.monotonic() - beganMs;
      publishAnswer(answer, {
        route: asked.route,
        status,
        bodyBytes: bytes.byteLength,
        durationMs,
      });
    } catch (error) {
      this.#fail(error, asked, style);
    } finally {
      ingest.release(reservedBytes);
    }
  }

  async #store(
    events: ForeignEvents,
    principal: Principal,
    session: string | undefined,
  ): Promise<IngestAnswer | undefined> {
    if (events.bodies.length === 0) return undefined;
    const body = Buffer.from(events.bodies.join('\n'));
    return this.#options.ingest.accept({ body, form: 'ndjson', principal, session });
  }

  #send(
    { id, url, request, response }: AskedEvents,
    style: DoorStyle,
    answer: IngestAnswer | undefined,
    events: ForeignEvents,
  ): number {
    const own = style.reply(answer, events, { headers: request.headers, requestId: id });
    const { status, contentType, body } = own ?? refused(answer, { requestId: id, url });
    const headers: Record<string, string | number> = {};
    if (contentType !== undefined) headers['content-type'] = contentType;
    if (status !== 204) headers['content-length'] = Buffer.byteLength(body);
    response.writeHead(status, headers).end(body);
    return status;
  }

  #fail(error: unknown, asked: AskedEvents, style: DoorStyle, headers: AnswerHeaders = {}): void {
    const { chance } = this.#options;
    writeFailure(error, asked, chance, headers, (failure) =>
      style.fail?.(failure, asked.request.headers),
    );
  }
}

const nothing: ReadBody = { bytes: new Uint8Array(), reservedBytes: 0 };

function refused(
  answer: IngestAnswer | undefined,
  { requestId, url }: { readonly requestId: string; readonly url: string },
): ForeignReply {
  const { status, body } = refusalReply(answer, {
    requestId,
    isPredecessor: !url.startsWith('/v1/'),
  });
  return { status, contentType: jsonType, body };
}
