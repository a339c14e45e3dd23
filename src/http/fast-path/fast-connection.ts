import type { Socket } from 'node:net';
import type { AnswerHeaders, AskedHead, EventsResponse } from '../doors/asked-events.ts';
import type { AnswerHeads } from './answer-heads.ts';
import { readPlain, type PlainHead, type PlainRequest } from './plain-request.ts';

/** What the connections of one server share. */
export interface FastServer {
  readonly heads: AnswerHeads;
  /** No request is taken any more: the next answer of each connection is its last. */
  isClosing(): boolean;
  nextId(): string;
  /** Answers through `asked.response`, exactly once. */
  serve(asked: AskedHead, body: Buffer): void;
  /** Gives the connection to Node's own server, for good. */
  takeOver(socket: Socket): void;
  /** The connection is ours no more. */
  forget(connection: FastConnection): void;
}

/** How long a connection may stand still. */
export interface IdleLimits {
  /** Behind an answer; 0: for ever. */
  readonly keepAliveMs: number;
  /** Before its first request is here. */
  readonly firstMs: number;
}

/** How often a connection that has said nothing is asked to close before it is ended; it is asked every 50 ms. */
const silentAsks = 5;

/**
 * One connection as long as it carries nothing but plain requests, one at a time, and the response to each of them. Whatever else comes is put back into
 * the socket, and the socket is given to Node. What comes while an answer is awaited stays in the socket, and is judged after it.
 */
export class FastConnection implements EventsResponse {
  readonly #socket: Socket;
  readonly #server: FastServer;
  #state: 'idle' | 'answering' | 'ending' | 'gone' = 'idle';
  #known: PlainHead | undefined;
  #status = 0;
  #headers: AnswerHeaders = {};
  /** Something was answered since it was last looked at. */
  #hasMoved = false;
  #stillSinceMs: number;
  #asksToClose = 0;

  constructor(socket: Socket, server: FastServer, nowMs: number) {
    this.#socket = socket;
    this.#server = server;
    this.#stillSinceMs = nowMs;
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#state === 'ending') return;
    if (this.#state === 'answering' || this.#socket.writableNeedDrain) {
      this.#socket.pause();
      this.#socket.unshift(chunk);
      return;
    }
    const request = readPlain(chunk, this.#known);
    if (request !== undefined && chunk.byteLength === request.bodyAt + request.bodyBytes)
      this.#begin(request, chunk);
    else this.#handOver(chunk);
  };

  /** As Node does: who says that nothing more comes gets no answer that is not written yet. */
  readonly #onEnd = (): void => {
    this.#socket.end();
  };

  /** 'close' follows. */
  readonly #onError = (): void => undefined;

  readonly #onClose = (): void => {
    this.#state = 'gone';
    this.#server.forget(this);
  };

  #begin({ head, headers, bodyAt }: PlainRequest, chunk: Buffer): void {
    this.#known = head;
    this.#state = 'answering';
    const { url } = head;
    const id = this.#server.nextId();
    this.#server.serve({ headers, response: this, id, url, route: url }, chunk.subarray(bodyAt));
  }

  /** Node starts anew with it, so that all its limits and deadlines hold for what comes. */
  #handOver(chunk: Buffer | undefined): void {
    const socket = this.#socket;
    this.#state = 'gone';
    socket.off('data', this.#onData);
    socket.off('end', this.#onEnd);
    socket.off('error', this.#onError);
    socket.off('close', this.#onClose);
    socket.pause();
    if (chunk !== undefined) socket.unshift(chunk);
    this.#server.forget(this);
    this.#server.takeOver(socket);
    socket.resume();
  }

  /** The request that came last is answered, or nobody waits for it. */
  get headersSent(): boolean {
    return this.#state !== 'answering';
  }

  writeHead(status: number, headers: AnswerHeaders): this {
    this.#status = status;
    this.#headers = headers;
    return this;
  }

  /** The client may have gone meanwhile: nobody is told then (ING-917). */
  end(body: string | Uint8Array): void {
    const socket = this.#socket;
    if (this.#state !== 'answering') return;
    this.#state = 'idle';
    this.#hasMoved = true;
    if (!socket.writable) return;
    const isLast = this.#server.isClosing() || this.#headers['connection'] === 'close';
    const head = this.#server.heads.text(this.#status, this.#headers, isLast);
    const isTaken = socket.write(
      typeof body === 'string' ? head + body : Buffer.concat([Buffer.from(head), body]),
    );
    if (isLast) this.#end();
    else if (!isTaken) socket.once('drain', this.#goOn);
    else if (socket.isPaused()) this.#goOn();
  }

  readonly #goOn = (): void => {
    if (this.#state === 'idle') this.#socket.resume();
  };

  /** Lets what is written go out. */
  #end(): void {
    this.#state = 'ending';
    this.#socket.destroySoon();
  }

  /**
   * Ends what is idle; what is answering is ended by its answer. What has said nothing yet may have sent a first request that is not read: it is
   * ended when it was asked a few times.
   */
  close(): void {
    if (this.#state !== 'idle') return;
    this.#asksToClose += 1;
    if (this.#known !== undefined || this.#asksToClose >= silentAsks) this.#end();
  }

  cut(): void {
    this.#socket.destroy();
  }

  /** To be called now and then: ends the connection when it stood still too long. */
  checkIdle(nowMs: number, limits: IdleLimits): void {
    if (this.#state === 'answering') return;
    if (this.#hasMoved) {
      this.#hasMoved = false;
      this.#stillSinceMs = nowMs;
      return;
    }
    const stillMs = nowMs - this.#stillSinceMs;
    if (this.#known === undefined) {
      // Node knows how long to wait for a first request, and what to say after that.
      if (stillMs >= limits.firstMs) this.#handOver(undefined);
    } else if (limits.keepAliveMs > 0 && stillMs >= limits.keepAliveMs) this.#socket.destroy();
  }
}
