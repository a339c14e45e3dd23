import { setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { assert } from './assert.ts';
import { backoffMs, type Backoff } from './backoff.ts';
import type { Chance } from './chance.ts';
import type { Clock } from './clock.ts';
import { messageOf } from './errors.ts';

export interface ThreadRequest<R> {
  readonly id: number;
  readonly request: R;
}

/** Answer 0, which not every thread gives, tells that it is ready, or why not. */
export type ThreadReply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failure: unknown };

/** Requests that may wait for one thread; more are refused with "later" (P9). */
const pendingMax = 1024;
const closeTimeoutMs = 10_000;
const restartBackoff: Backoff = { baseMs: 100, maxMs: 30_000 };

export interface ThreadPortOptions {
  /** Entry of the thread. */
  readonly source: URL;
  /** Made anew for each start, since a restart must find the graph that was open before. */
  readonly startData: () => unknown;
  /** The error of a request that the thread cannot take, or took with it. */
  readonly unavailable: (reason: string) => Error;
  /** A failure as the thread sent it. */
  readonly decodeFailure: (failure: unknown) => Error;
  readonly clock: Clock;
  readonly chance: Chance;
}

interface Waiter {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The main thread's end of a worker thread. A thread that dies takes its requests with it, `unavailable` each, and is started again by the
 * first request after a wait that doubles up to 30 s. It holds the process open only while requests wait.
 */
export class ThreadPort<R extends { readonly kind: string }> {
  readonly #options: ThreadPortOptions;
  readonly #pending = new Map<number, Waiter>();
  #worker: Worker | undefined;
  #nextId = 1;
  #failures = 0;
  #notBeforeMs = 0;
  #isClosed = false;

  constructor(options: ThreadPortOptions) {
    this.#options = options;
  }

  /** Starts the thread now; resolves with what it found in the file. */
  open(): Promise<unknown> {
    this.#start();
    return this.#waitFor(0);
  }

  /** One request; starts the thread where it is not running. What is in `handedOver` is the thread's from then on, and no copy is made. */
  call(request: R, handedOver: readonly ArrayBuffer[] = []): Promise<unknown> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(this.#options.unavailable(refusal));
    const worker = this.#worker ?? this.#start();
    const id = this.#nextId;
    this.#nextId += 1;
    const message: ThreadRequest<R> = { id, request };
    worker.postMessage(message, handedOver);
    return this.#waitFor(id);
  }

  /** Lets the thread finish what it was asked for, then `last`, then ends it; after 10 s it is ended as it is. */
  async close(last?: R): Promise<void> {
    if (this.#isClosed) return;
    const worker = this.#worker;
    const isOrderly = last !== undefined && worker !== undefined;
    const finished = isOrderly ? this.call(last) : undefined;
    this.#isClosed = true;
    if (worker === undefined) return;
    const timer = this.#options.clock.after(closeTimeoutMs, () => void worker.terminate());
    try {
      await finished;
    } finally {
      timer.cancel();
      await worker.terminate();
      this.#fail(worker, 'it is closed');
    }
  }

  /** Ends a thread that does not come back: what waits for it fails as if it had died, and the next request starts another. */
  kill(reason: string): void {
    if (this.#worker !== undefined) this.#fail(this.#worker, reason);
  }

  #refusal(): string | undefined {
    if (this.#isClosed) return 'it is closed';
    if (this.#pending.size >= pendingMax) return `${pendingMax} requests wait for it`;
    const isWaiting = this.#worker === undefined && this.#notBeforeMs > this.#now();
    return isWaiting ? 'its thread died and is started again in a moment' : undefined;
  }

  #now(): number {
    return this.#options.clock.monotonic();
  }

  #start(): Worker {
    const { source, startData } = this.#options;
    const worker = new Worker(source, { workerData: startData() });
    this.#worker = worker;
    worker.on('message', (reply: ThreadReply) => this.#settle(worker, reply));
    worker.on('error', (error) => this.#fail(worker, `its thread died: ${messageOf(error)}`));
    worker.on('exit', () => this.#fail(worker, 'its thread ended'));
    worker.unref();
    return worker;
  }

  #waitFor(id: number): Promise<unknown> {
    this.#worker?.ref();
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
    });
  }

  #settle(worker: Worker, reply: ThreadReply): void {
    if (worker !== this.#worker) return;
    const isOpening = reply.id === 0;
    if ('failure' in reply && isOpening) {
      this.#lose(worker, this.#options.decodeFailure(reply.failure));
      return;
    }
    if (!isOpening) this.#failures = 0;
    const waiter = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if (this.#pending.size === 0) worker.unref();
    if ('failure' in reply) waiter?.reject(this.#options.decodeFailure(reply.failure));
    else waiter?.resolve(reply.result);
  }

  #fail(worker: Worker, reason: string): void {
    if (worker === this.#worker) this.#lose(worker, this.#options.unavailable(reason));
  }

  /** All that waited for the thread fails alike; what it had begun is known by its row once it is back. */
  #lose(worker: Worker, error: Error): void {
    assert(worker === this.#worker, 'a thread is lost once');
    this.#worker = undefined;
    this.#failures += 1;
    const { chance } = this.#options;
    this.#notBeforeMs = this.#now() + backoffMs(restartBackoff, this.#failures, chance);
    void worker.terminate();
    const waiters = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of waiters) reject(error);
  }
}

/** The file beside a module, with the extension that the module itself has: .ts in the sources, .js in the package. */
export function besideModule(source: URL, moduleUrl: string): URL {
  return moduleUrl.endsWith('.ts') ? source : new URL(source.href.replace(/\.ts$/, '.js'));
}

/** Weighs a third of what other threads weigh: enough that they hardly notice, and that a machine full of other programs starves nobody. */
const giveWayNice = 5;

/**
 * Lets the calling thread, and it alone, give way: while the cores are busy it gets a third of what others get, else all it wants. So admission
 * goes before the drain under load, and the drain never starves. Linux alone counts threads like this; elsewhere nothing happens.
 */
export function giveWay(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, giveWayNice);
  } catch {
    // A sandbox may forbid it, and then the threads share as equals.
  }
}
