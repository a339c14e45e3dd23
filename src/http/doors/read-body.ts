import type { Readable } from 'node:stream';
import { createGunzip, type Gunzip } from 'node:zlib';
import { formatBytes, messageOf } from '#base';
import { batchTooLarge, recordNotJson } from '#ingest';
import { requestInterrupted } from '../errors.ts';
import type { WaitingMessage } from './request-state.ts';
import type { HttpServerOptions } from '../server-options.ts';

/** What a body may cost. */
export interface BodyLimits {
  /** On the wire, and again when it is unpacked. */
  readonly bytesMax: number;
  /** Name of the limit in messages. */
  readonly limitName: string;
  /** Counts bytes that come to be held in memory; throws when there is no room. */
  reserve(bytes: number): void;
  release(bytes: number): void;
}

/** Of a body with events, through whichever door it comes. */
export function eventLimits({
  ingest,
  batchBytesMax,
}: Pick<HttpServerOptions, 'ingest' | 'batchBytesMax'>): BodyLimits {
  return {
    bytesMax: batchBytesMax,
    limitName: 'ingest.max_batch_bytes',
    reserve: (bytes) => ingest.reserve(bytes),
    release: (bytes) => ingest.release(bytes),
  };
}

export interface ReadBody {
  readonly bytes: Uint8Array;
  /** For the caller to release when the request is answered; a failure has released it already. */
  readonly reservedBytes: number;
}

export interface BodyRequest {
  readonly payload: WaitingMessage;
  readonly isPacked: boolean;
  readonly limits: BodyLimits;
  /** The request is refused already; only its bytes are let pass. */
  readonly refusal?: Error | undefined;
}

/** A body that came whole, counted as one that is read; throws what such a one would meet. */
export function holdWhole(bytes: Uint8Array, limits: BodyLimits): ReadBody {
  if (bytes.byteLength > limits.bytesMax) throw tooLarge(limits, 'sent');
  limits.reserve(bytes.byteLength);
  return { bytes, reservedBytes: bytes.byteLength };
}

function tooLarge({ bytesMax, limitName }: BodyLimits, how: 'sent' | 'unpacked'): Error {
  return batchTooLarge({
    reason: `the body has more than ${formatBytes(bytesMax)} ${how} (${limitName}): send it in parts`,
  });
}

type Done = (error: Error | null, body?: ReadBody) => void;

/**
 * What a refused body may still send before its connection is cut. A client that is cut off while it writes never sees the refusal and sends
 * the same body again, for ever; so it is let finish, into nothing.
 */
const discardedBytesMax = 256 * 1024 * 1024;

/** Reads a whole body, unpacked; stops keeping it at a limit, and calls `done` once. */
export function readBody(request: BodyRequest, done: Done): void {
  const { sayContinue } = request.payload;
  if (sayContinue !== undefined && request.refusal !== undefined) {
    done(request.refusal);
    return;
  }
  sayContinue?.();
  new BodyReader(request, done).start(request.isPacked, request.refusal);
}

/** Packed bodies come out of the decompressor in pieces of this size; at the limit at most one is too much. */
const unpackedChunkBytes = 64 * 1024;

class BodyReader {
  readonly #payload: Readable;
  readonly #limits: BodyLimits;
  readonly #done: Done;
  readonly #chunks: Buffer[] = [];
  /** Unpacks the payload. */
  #gunzip: Gunzip | undefined;
  #wireBytes = 0;
  #heldBytes = 0;
  #failure: Error | undefined;
  #isDone = false;

  constructor({ payload, limits }: BodyRequest, done: Done) {
    this.#payload = payload;
    this.#limits = limits;
    this.#done = done;
  }

  start(isPacked: boolean, refusal: Error | undefined): void {
    const payload = this.#payload;
    payload.on('error', (error) => this.#interrupt(messageOf(error)));
    payload.on('close', () => this.#interrupt('the connection was closed'));
    payload.on('end', () => this.#endWire());
    payload.on('data', (chunk: Buffer) => {
      this.#countWire(chunk);
      if (!isPacked) this.#keep(chunk);
    });
    if (refusal !== undefined) this.#refuse(refusal);
    else if (isPacked) this.#unpack();
  }

  #unpack(): void {
    const gunzip = createGunzip({ chunkSize: unpackedChunkBytes });
    this.#gunzip = gunzip;
    gunzip.on('data', (chunk: Buffer) => this.#keep(chunk));
    gunzip.on('end', () => this.#finish());
    gunzip.on('error', (error) =>
      this.#refuse(recordNotJson({ reason: `the body is not valid gzip (${messageOf(error)})` })),
    );
    this.#payload.pipe(gunzip);
  }

  #countWire(chunk: Buffer): void {
    this.#wireBytes += chunk.byteLength;
    if (this.#failure === undefined) {
      if (this.#wireBytes > this.#limits.bytesMax) this.#refuse(tooLarge(this.#limits, 'sent'));
    } else if (this.#wireBytes > discardedBytesMax) this.#fail(this.#failure);
  }

  #keep(chunk: Buffer): void {
    if (this.#failure !== undefined || this.#isDone) return;
    if (this.#heldBytes + chunk.byteLength > this.#limits.bytesMax) {
      this.#refuse(tooLarge(this.#limits, 'unpacked'));
      return;
    }
    try {
      this.#limits.reserve(chunk.byteLength);
    } catch (error) {
      this.#refuse(error as Error);
      return;
    }
    this.#heldBytes += chunk.byteLength;
    this.#chunks.push(chunk);
  }

  #finish(): void {
    if (this.#failure !== undefined || this.#isDone) return;
    this.#isDone = true;
    const [first] = this.#chunks;
    const bytes =
      this.#chunks.length === 1 && first !== undefined
        ? first
        : Buffer.concat(this.#chunks, this.#heldBytes);
    this.#done(null, { bytes, reservedBytes: this.#heldBytes });
  }

  /** Keeps nothing more; the answer waits for the client to have sent the rest. */
  #refuse(error: Error): void {
    if (this.#failure !== undefined || this.#isDone) return;
    this.#failure = error;
    this.#chunks.length = 0;
    this.#limits.release(this.#heldBytes);
    this.#heldBytes = 0;
    if (this.#gunzip !== undefined) {
      this.#payload.unpipe();
      this.#gunzip.destroy();
    }
    if (this.#payload.readableEnded) this.#fail(error);
    else this.#payload.resume();
  }

  #endWire(): void {
    if (this.#failure !== undefined) this.#fail(this.#failure);
    else if (this.#gunzip === undefined) this.#finish();
  }

  #interrupt(reason: string): void {
    if (this.#payload.readableEnded || this.#isDone) return;
    this.#refuse(requestInterrupted({ reason }));
    if (this.#failure !== undefined) this.#fail(this.#failure);
  }

  #fail(error: Error): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#done(error);
  }
}
