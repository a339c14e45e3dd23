import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Clock, Timer } from '#base';
import { graphUnavailable } from '../errors.ts';

/** How long nobody may take a chunk that is there. */
const idleMs = 60_000;

export interface SpoolLimits {
  /** Packed bytes that wait to be taken. */
  readonly bytesMax: number;
}

const limitsDefault: SpoolLimits = { bytesMax: 512 * 2 ** 20 };

/**
 * What was read and nobody has taken yet, packed to about a tenth: the scan goes on at the server's speed, so that writers wait for it and not
 * for whoever reads the export. One that nobody takes from for a minute ends, and so does one that holds more than its bound: GRAPH_UNAVAILABLE.
 */
export class Spool {
  readonly #clock: Clock;
  readonly #limits: SpoolLimits;
  readonly #waiting: (() => void)[] = [];
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #failure: { readonly error: unknown } | undefined;
  #isEnded = false;
  #isLeft = false;
  #idle: Timer | undefined;

  constructor(clock: Clock, limits: SpoolLimits = limitsDefault) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Nobody takes anything any more: nothing more is worth to be read. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  put(text: string): void {
    if (this.#isLeft) return;
    const chunk = deflateRawSync(text, { level: 1 });
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    const { bytesMax } = this.#limits;
    if (this.#bytes > bytesMax)
      this.#leave(`${bytesMax} bytes of it wait for whoever reads: read it faster`);
    this.#idle ??= this.#startIdle();
    this.#wake();
  }

  end(failure?: { readonly error: unknown }): void {
    this.#failure ??= failure;
    this.#isEnded = true;
    this.#wake();
  }

  async *read(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const chunk = this.#take();
        if (chunk !== undefined) yield inflateRawSync(chunk);
        else if (this.#failure !== undefined) throw this.#failure.error;
        else if (this.#isEnded) return;
        else await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
    } finally {
      this.#leave();
    }
  }

  #take(): Uint8Array | undefined {
    const chunk = this.#chunks.shift();
    this.#bytes -= chunk?.byteLength ?? 0;
    this.#idle?.cancel();
    this.#idle = this.#chunks.length > 0 ? this.#startIdle() : undefined;
    return chunk;
  }

  #startIdle(): Timer {
    return this.#clock.after(idleMs, () => this.#leave(`nobody read from it for ${idleMs} ms`));
  }

  #leave(reason?: string): void {
    if (reason !== undefined)
      this.#failure ??= { error: graphUnavailable({ reason: `the export ended: ${reason}` }) };
    this.#isLeft = true;
    this.#idle?.cancel();
    this.#idle = undefined;
    this.#chunks = [];
    this.#bytes = 0;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
