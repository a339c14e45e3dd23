import type { Clock } from '#base';
import type { Pauses } from '../worker/pauses.ts';
import { nextShare } from './next-share.ts';

export interface PaceDependencies {
  readonly clock: Clock;
  /** Their end lets everybody through. */
  readonly pauses: Pauses;
  /** For how many ms since it was asked before the thread that answers clients stood without a core. */
  readonly waitedMs: () => number;
}

/** Time over which is looked before the share changes. */
const windowMs = 100;
/** After a longer one the drain had nothing to do: what was seen then says nothing of now. */
const windowMsMost = 1000;
/** However large a batch was: by then the press may be over. */
const restMsMost = 250;
/** Work that may be begun before its rest, in ms of a core: small batches go together, and no client waits for more than this. */
const burstMs = 10;
/** Batches that are read at once while the drain is held back. */
const readersMost = 4;
/** Of a batch before any was measured. */
const msPerByteAtFirst = 60e-6;
/** Weight of the newest measurement. */
const newest = 0.2;

/** How the drain shares the cores with those who wait for an answer. */
export interface Pace {
  /** Part of a core that the fold may take. */
  readonly share: number;
  /** A client's records are in the log. */
  appended(): void;
  /** Before a batch is read; `began` follows each, whatever happens. */
  turn(): Promise<void>;
  /** So much was read, and is folded now. */
  began(bytes: number): void;
  /** What the fold of so many bytes has cost, in ms of a core. */
  folded(bytes: number, ms: number): void;
  /** A batch is in the graph whose first record was accepted so long ago. */
  committed(lagMs: number): void;
  /** Nobody waits from then on: the drain stops. */
  open(): void;
}

/** All that it can get. */
export const unpaced: Pace = {
  share: 1,
  appended: () => undefined,
  turn: () => Promise.resolve(),
  began: () => undefined,
  folded: () => undefined,
  committed: () => undefined,
  open: () => undefined,
};

/**
 * Lets clients go before the drain while both want the same cores (B191). The kernel's priorities alone do not: a thread that was begun runs on for its slice of
 * some 3 ms whoever waits. Held back are reads of batches, so that what waits is in the log and not in memory, and a batch has the more records.
 */
export class DrainPace implements Pace {
  readonly #deps: PaceDependencies;
  #share = 1;
  #msPerByte = msPerByteAtFirst;
  #hasAppends = false;
  #lagMs = 0;
  #readers = 0;
  #freeAtMs = 0;
  #isResting = false;
  #isOpen = false;
  #lookedAtMs: number;
  #waiting: (() => void)[] = [];

  constructor(dependencies: PaceDependencies) {
    this.#deps = dependencies;
    this.#lookedAtMs = dependencies.clock.monotonic();
  }

  get share(): number {
    return this.#share;
  }

  appended(): void {
    this.#hasAppends = true;
  }

  turn(): Promise<void> {
    if (this.#waiting.length === 0 && this.#mayRead()) {
      this.#readers += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#letIn();
    });
  }

  began(bytes: number): void {
    this.#readers -= 1;
    if (this.#share < 1) {
      const restMs = Math.min(restMsMost, (bytes * this.#msPerByte) / this.#share);
      this.#freeAtMs = Math.max(this.#freeAtMs, this.#deps.clock.monotonic()) + restMs;
    }
    this.#letIn();
  }

  folded(bytes: number, ms: number): void {
    if (bytes > 0) this.#msPerByte += newest * (ms / bytes - this.#msPerByte);
  }

  committed(lagMs: number): void {
    this.#lagMs = Math.max(this.#lagMs, lagMs);
    this.#look();
  }

  open(): void {
    this.#isOpen = true;
    this.#letIn();
  }

  #look(): void {
    const { clock, waitedMs } = this.#deps;
    const nowMs = clock.monotonic();
    const wallMs = nowMs - this.#lookedAtMs;
    if (wallMs < windowMs) return;
    this.#lookedAtMs = nowMs;
    const waitedPart = waitedMs() / wallMs;
    const hasAppends = this.#hasAppends;
    const lagMs = this.#lagMs;
    this.#hasAppends = false;
    this.#lagMs = 0;
    if (wallMs > windowMsMost) return;
    this.#share = nextShare(this.#share, { hasAppends, waitedPart, lagMs });
  }

  #mayRead(): boolean {
    if (this.#isOpen || this.#share === 1) return true;
    return this.#readers < readersMost && this.#restMs() <= 0;
  }

  #restMs(): number {
    return this.#freeAtMs - burstMs - this.#deps.clock.monotonic();
  }

  #letIn(): void {
    while (this.#waiting.length > 0 && this.#mayRead()) {
      this.#readers += 1;
      this.#waiting.shift()?.();
    }
    if (this.#waiting.length === 0 || this.#isResting) return;
    const restMs = this.#restMs();
    if (restMs <= 0) return;
    this.#isResting = true;
    void this.#deps.pauses.pause(restMs).then(() => {
      this.#isResting = false;
      this.#letIn();
    });
  }
}
