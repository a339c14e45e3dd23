import { besideModule, joinedAlone, messageOf, ThreadPort, type Chance, type Clock } from '#base';
import { fold } from '#handlers';
import { daemonNoticed } from '#signals';
import { drainFailed } from '../errors.ts';
import { decodePlans, type FoldAnswer, type FoldOrder, type FoldRequest } from './fold-wire.ts';
import type { Folder, FoldInput } from './folder.ts';
import type { PackedPlan } from './packed-plan.ts';
import { planBatch, type BatchPlan } from './plan-batch.ts';
import type { Pace } from '../pace/drain-pace.ts';
import type { DrainSettings } from '../settings.ts';

export interface ThreadFolderOptions {
  readonly clock: Clock;
  readonly chance: Chance;
  readonly settings: Pick<DrainSettings, 'groupRecordsMax' | 'groupBytesMax'>;
  readonly pace: Pick<Pace, 'folded'>;
}

/** Bytes of one request, so that no batch waits long for those that go with it. */
const requestBytesMax = 1024 * 1024;
/** Requests on their way: one is folded while the next one is carried over. */
const requestsMax = 2;
/** What a lone record may cost the main thread, since the way to the thread and back costs more: at most this large, and this seldom. */
const aloneBytesMax = 16 * 1024;
const aloneEveryMs = 20;

interface Waiting {
  readonly input: FoldInput;
  readonly bytes: number;
  readonly resolve: (plan: BatchPlan | PackedPlan) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Folds in a thread of its own. On the main thread a batch of 100 took 7 ms, during which no sync was seen to have ended: with the drain at
 * work an append took 9 ms instead of 1. Batches that wait at the same time cross together. What the thread cannot do, for whatever reason, is
 * done here: a fold is pure, so it does not matter where.
 */
export function threadFolder(options: ThreadFolderOptions): Folder {
  return new ThreadFolder(options);
}

class ThreadFolder implements Folder {
  readonly #options: ThreadFolderOptions;
  readonly #port: ThreadPort<FoldRequest>;
  #waiting: Waiting[] = [];
  #inFlight = 0;
  #isScheduled = false;
  #isWell = true;
  #aloneAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ThreadFolderOptions) {
    const { clock, chance } = options;
    this.#options = options;
    this.#port = new ThreadPort<FoldRequest>({
      source: besideModule(new URL('./fold-thread.ts', import.meta.url), import.meta.url),
      startData: () => null,
      unavailable: (reason) => drainFailed({ key: 'any key', reason }),
      decodeFailure: (failure) => drainFailed({ key: 'any key', reason: messageOf(failure) }),
      clock,
      chance,
    });
  }

  plan(input: FoldInput): BatchPlan | Promise<BatchPlan | PackedPlan> {
    const bytes = input.items.reduce((sum, { raw }) => sum + raw.byteLength, 0);
    if (this.#isForHere(input, bytes)) return planHere(input);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, bytes, resolve, reject });
      this.#schedule();
    });
  }

  close(): Promise<void> {
    return this.#port.close();
  }

  #isForHere({ items, appliedThrough }: FoldInput, bytes: number): boolean {
    const [first] = items;
    // Some of it may be in the graph already (ING-539).
    if (first !== undefined && appliedThrough !== null && first.after <= appliedThrough)
      return true;
    if (items.length > 1 || bytes > aloneBytesMax || this.#inFlight > 0) return false;
    const nowMs = this.#options.clock.monotonic();
    if (nowMs - this.#aloneAtMs < aloneEveryMs) return false;
    this.#aloneAtMs = nowMs;
    return true;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Batches that come in this very step join the first request.
    queueMicrotask(() => {
      this.#isScheduled = false;
      while (this.#waiting.length > 0 && this.#inFlight < requestsMax)
        void this.#send(this.#take());
    });
  }

  #take(): readonly Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const one of this.#waiting) {
      bytes += one.bytes;
      if (count > 0 && bytes > requestBytesMax) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #send(some: readonly Waiting[]): Promise<void> {
    this.#inFlight += 1;
    const plans = await this.#ask(some);
    this.#inFlight -= 1;
    for (const [index, { input, resolve, reject }] of some.entries()) {
      try {
        resolve(plans[index] ?? planHere(input));
      } catch (error) {
        reject(error);
      }
    }
    this.#schedule();
  }

  /** No plans when the thread died or is about to be started again. */
  async #ask(some: readonly Waiting[]): Promise<readonly (PackedPlan | undefined)[]> {
    try {
      const request = this.#requestOf(some);
      const bytes = request.raws.byteLength;
      const answer = (await this.#port.call(request, [request.raws.buffer])) as FoldAnswer;
      this.#isWell = true;
      this.#options.pace.folded(bytes, answer.ranMs);
      return decodePlans(answer);
    } catch (error) {
      if (this.#isWell)
        daemonNoticed.publish(() => ({
          code: drainFailed.code,
          message: `${messageOf(error)}; records are folded on the main thread meanwhile`,
        }));
      this.#isWell = false;
      return [];
    }
  }

  #requestOf(some: readonly Waiting[]): FoldRequest {
    const { groupRecordsMax, groupBytesMax } = this.#options.settings;
    const orders = some.map(({ input: { key, cursor, items } }): FoldOrder => ({
      key,
      cursor,
      items: items.map(({ at, after, raw }) => [at, after, raw.byteLength]),
    }));
    return {
      kind: 'fold',
      spillBytes: some[0]?.input.spillBytes ?? 0,
      recordsMax: groupRecordsMax,
      bytesMax: groupBytesMax,
      orders: JSON.stringify(orders),
      raws: joinedAlone(some.flatMap(({ input }) => input.items.map(({ raw }) => raw))),
    };
  }
}

function planHere(input: FoldInput): BatchPlan {
  return planBatch({ ...input, fold });
}
