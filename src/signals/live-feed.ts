import type { Clock, Timer } from '#base';
import {
  batchCommitted,
  daemonChanged,
  healthChanged,
  keyQuarantined,
  recordDead,
  recordsAccepted,
} from './channels.ts';

export const liveKinds = ['accepted', 'applied', 'dead', 'quarantine', 'health'] as const;
export type LiveKind = (typeof liveKinds)[number];

/** Something that happened, as it is kept for whoever watches. No payload is in it. */
export interface LiveMessage {
  readonly kind: LiveKind;
  /** Epoch ms. */
  readonly atMs: number;
  /** Null for what concerns the whole daemon. */
  readonly key: string | null;
  /** Where they are known already; a key may not tell them. */
  readonly names?: { readonly workspace: string; readonly session: string };
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Messages that a watcher may see: those from its cursor on, as far as they are still kept. */
export interface LivePage {
  readonly messages: readonly { readonly id: string; readonly message: LiveMessage }[];
  /** Messages that went before this watcher came to them; of an unknown number where it comes from another life of the daemon. */
  readonly missed: number | null;
  /** Id of the last one, to be given back as `after`. */
  readonly last: string;
}

/** What happens in the daemon, for whoever looks: one ring for all watchers, so that no slow one holds memory or anybody up (P9). */
export interface LiveFeed {
  /** Begins to listen, with the first watcher; the function that ends it. */
  watch(): () => void;
  /** Messages behind `after`, at most `limit`; from now on when it is undefined. */
  read(after: string | undefined, limit: number): LivePage;
  /** Resolves when there is a message behind `after`, after `ms` at the latest, or when the signal ends. */
  wait(after: string, ms: number, signal: AbortSignal): Promise<void>;
  readonly watchers: number;
  stop(): void;
}

export interface LiveFeedOptions {
  readonly clock: Clock;
  /** Differs in each life of the daemon, so that an id of another one is known as such. */
  readonly life: string;
  readonly messagesMax?: number;
}

/** About 300 bytes each. */
const messagesMaxDefault = 8192;
/** After the last watcher has gone the ring goes on for so long, so that one who comes back misses nothing. */
const lingerMs = 30_000;

export function createLiveFeed(options: LiveFeedOptions): LiveFeed {
  return new RingFeed(options);
}

class RingFeed implements LiveFeed {
  readonly #clock: Clock;
  readonly #life: string;
  readonly #ring: (LiveMessage | undefined)[];
  /** Number of the next message. */
  #next = 0;
  /** Ids below this one are of a time when nobody listened: what was missed since is not known. */
  #begun = 0;
  /** The first message that is kept. */
  #first = 0;
  #watchers = 0;
  #ends: (() => void)[] = [];
  #linger: Timer | undefined;
  #waiting: (() => void)[] = [];

  constructor({ clock, life, messagesMax = messagesMaxDefault }: LiveFeedOptions) {
    this.#clock = clock;
    this.#life = life;
    this.#ring = Array.from({ length: messagesMax });
  }

  get watchers(): number {
    return this.#watchers;
  }

  watch(): () => void {
    this.#linger?.cancel();
    this.#watchers += 1;
    if (this.#ends.length === 0) this.#listen();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#watchers -= 1;
      if (this.#watchers === 0) this.#linger = this.#clock.after(lingerMs, () => this.stop());
    };
  }

  read(after: string | undefined, limit: number): LivePage {
    const from = after === undefined ? this.#next : this.#numberOf(after);
    const begin = from === undefined ? this.#first : Math.max(from, this.#first);
    const missed = from === undefined ? null : begin - from;
    const end = Math.min(this.#next, begin + limit);
    const messages: { id: string; message: LiveMessage }[] = [];
    for (let number = begin; number < end; number += 1) {
      const message = this.#ring[number % this.#ring.length];
      if (message !== undefined) messages.push({ id: this.#idOf(number + 1), message });
    }
    return { messages, missed, last: this.#idOf(end) };
  }

  async wait(after: string, ms: number, signal: AbortSignal): Promise<void> {
    const from = this.#numberOf(after);
    if (signal.aborted || from === undefined || from < this.#next) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (): void => resolve();
    this.#waiting.push(end);
    const timer = this.#clock.after(ms, end);
    signal.addEventListener('abort', end, { once: true });
    await promise;
    timer.cancel();
    signal.removeEventListener('abort', end);
    this.#waiting = this.#waiting.filter((one) => one !== end);
  }

  stop(): void {
    this.#linger?.cancel();
    for (const end of this.#ends.splice(0)) end();
    this.#next += 1;
    this.#first = this.#next;
    this.#begun = this.#next;
    this.#ring.fill(undefined);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** An id stands for the place behind its message. */
  #idOf(number: number): string {
    return `${this.#life}-${number}`;
  }

  /** Undefined for an id of another life of the daemon, and for what is none. */
  #numberOf(id: string): number | undefined {
    const [life, text = ''] = id.split('-');
    const number = /^\d{1,15}$/.test(text) ? Number(text) : undefined;
    if (life !== this.#life || number === undefined) return undefined;
    return number >= this.#begun && number <= this.#next ? number : undefined;
  }

  #put(message: LiveMessage): void {
    this.#ring[this.#next % this.#ring.length] = message;
    this.#next += 1;
    this.#first = Math.max(this.#first, this.#next - this.#ring.length);
    if (this.#waiting.length > 0) for (const wake of this.#waiting.splice(0)) wake();
  }

  #listen(): void {
    const at = (): number => this.#clock.now();
    this.#ends = [
      recordsAccepted.subscribe(({ groups }) => {
        const atMs = at();
        for (const { key, workspace, session, records, position } of groups)
          this.#put({
            kind: 'accepted',
            atMs,
            key,
            names: { workspace, session },
            facts: { records, position },
          });
      }),
      batchCommitted.subscribe(({ key, records, position, lagMs }) => {
        const lag_ms = Math.round(lagMs);
        this.#put({ kind: 'applied', atMs: at(), key, facts: { records, position, lag_ms } });
      }),
      recordDead.subscribe(({ key, position, code, message }) =>
        this.#put({ kind: 'dead', atMs: at(), key, facts: { position, code, message } }),
      ),
      keyQuarantined.subscribe(({ key, code, message }) =>
        this.#put({ kind: 'quarantine', atMs: at(), key, facts: { code, message } }),
      ),
      daemonChanged.subscribe(({ state, detail }) =>
        this.#put({ kind: 'health', atMs: at(), key: null, facts: { state, message: detail } }),
      ),
      healthChanged.subscribe(({ degraded }) =>
        this.#put({ kind: 'health', atMs: at(), key: null, facts: { degraded } }),
      ),
    ];
  }
}
