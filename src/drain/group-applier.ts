import pLimit from 'p-limit';
import {
  backoffMs,
  isMillraceError,
  messageOf,
  type Chance,
  type Clock,
  type MillraceError,
} from '#base';
import { failpoint } from '#disk';
import { fenceLost, type FencePermit } from '#fence';
import type { AnyPart, GraphStore } from '#graph';
import { applyRetried, groupApplied } from '#signals';
import { afterFailure } from './worker/after-failure.ts';
import { applyFailed, drainFailed } from './errors.ts';
import { Pauses } from './worker/pauses.ts';
import { planHalves } from './fold/plan-chunks.ts';
import type { DrainSettings } from './settings.ts';
import type { Troubles } from './worker/troubles.ts';

/** Consecutive folded records of one key that want to be in the graph. */
export interface Offer {
  /** What the store needs and no more: it may be another thread, and what it is given is copied. */
  readonly part: AnyPart;
  readonly records: number;
  readonly mutations: number;
  /** Estimate of what the store has to write. */
  readonly bytes: number;
  /** Suspected: it gets a transaction of its own, so that nobody else is tried again for it. */
  readonly isAlone: boolean;
  /** Tells of each wait for the store, and with `undefined` of its end. */
  readonly onWait: (
    wait: { readonly attempt: number; readonly error: MillraceError } | undefined,
  ) => void;
}

export type GroupOutcome =
  /** All steps are in the graph, with their row. */
  | { readonly kind: 'applied' }
  /** The store refuses something in these steps (`poison`); it holds nothing of them. */
  | { readonly kind: 'refused'; readonly error: MillraceError }
  /** The key or the whole drain must stop. */
  | { readonly kind: 'failed'; readonly error: MillraceError }
  | { readonly kind: 'stopped' };

interface Ready extends Offer {
  readonly settle: (outcome: GroupOutcome) => void;
}

export interface ApplierDependencies {
  readonly graph: GraphStore;
  readonly permit: FencePermit;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly settings: DrainSettings;
  readonly troubles: Troubles;
}

const storeCause = 'store';

/** Puts what is ready into one transaction whenever a slot is free, without a timer (D8, ING-531). Each key offers one thing at a time. */
export class GroupApplier {
  readonly #deps: ApplierDependencies;
  readonly #limit;
  readonly #pauses: Pauses;
  #ready: Ready[] = [];
  #failuresInRow = 0;
  #isStopped = false;

  constructor(dependencies: ApplierDependencies) {
    this.#deps = dependencies;
    this.#limit = pLimit({
      concurrency: dependencies.settings.writeConcurrency,
      rejectOnClear: true,
    });
    this.#pauses = new Pauses(dependencies.clock);
  }

  get groupsInFlight(): number {
    return this.#limit.activeCount;
  }

  offer(offer: Offer): Promise<GroupOutcome> {
    if (this.#isStopped) return Promise.resolve({ kind: 'stopped' });
    return new Promise((settle) => {
      this.#ready.push({ ...offer, settle });
      this.#schedule();
    });
  }

  /** Begins no further transaction; one that runs ends by itself. What waits is left for the next start. */
  stop(): void {
    this.#isStopped = true;
    this.#pauses.close();
    settleAll(this.#ready, { kind: 'stopped' });
    this.#ready = [];
  }

  #schedule(): void {
    if (this.#ready.length === 0 || this.#limit.pendingCount > 0) return;
    void this.#limit(async () => {
      const group = this.#take();
      this.#schedule();
      if (group.length > 0) await this.#run(group);
    });
  }

  /** First come, first served, up to the limits of one transaction. */
  #take(): readonly Ready[] {
    const { groupRecordsMax, groupBytesMax } = this.#deps.settings;
    const [first] = this.#ready;
    if (first === undefined) return [];
    if (first.isAlone) return this.#ready.splice(0, 1);
    const group: Ready[] = [];
    let records = 0;
    let bytes = 0;
    for (const one of this.#ready) {
      records += one.records;
      bytes += one.bytes;
      const isFull = group.length > 0 && (records > groupRecordsMax || bytes > groupBytesMax);
      if (one.isAlone || isFull) break;
      group.push(one);
    }
    this.#ready.splice(0, group.length);
    return group;
  }

  /** Applies a group until it is settled; a failure is answered by its disposition (ING-536). */
  async #run(group: readonly Ready[]): Promise<void> {
    let left = group;
    for (let attempt = 1; left.length > 0; attempt += 1) {
      const error = this.#isStopped ? 'stopped' : await this.#apply(left);
      if (error === undefined) return settleAll(left, { kind: 'applied' });
      if (error === 'stopped' || this.#isStopped) return settleAll(left, { kind: 'stopped' });
      const answer = afterFailure(error.disposition);
      if (answer === 'try-again') {
        await this.#wait(left, error, attempt);
        continue;
      }
      if (answer === 'stop-all') return settleAll(left, { kind: 'failed', error });
      const named =
        answer === 'stop-key' ? left.filter(({ part }) => part.key === error.details['key']) : [];
      const kind = answer === 'stop-key' ? 'failed' : 'refused';
      if (left.length === 1) return settleAll(left, { kind, error });
      if (named.length === 0) return this.#runHalves(left);
      settleAll(named, { kind: 'failed', error });
      left = left.filter((one) => !named.includes(one));
    }
  }

  /** Between keys any cut is at a record boundary; within one key its worker cuts further. */
  async #runHalves(group: readonly Ready[]): Promise<void> {
    const [first, second] = planHalves(group);
    await this.#run(first);
    await this.#run(second);
  }

  async #apply(group: readonly Ready[]): Promise<MillraceError | undefined> {
    const { graph, permit, clock } = this.#deps;
    const { domain, generation } = permit;
    if (!permit.isLive) return fenceLost({ domain, generation });
    const startedMs = clock.monotonic();
    try {
      await failpoint('drain:before-apply');
      await graph.apply(
        permit,
        group.map(({ part }) => part),
      );
      await failpoint('drain:applied');
    } catch (error) {
      return isMillraceError(error) ? error : this.#classify(group, error);
    }
    this.#recovered();
    groupApplied.publish(() => ({
      keys: group.length,
      records: group.reduce((sum, { records }) => sum + records, 0),
      mutations: group.reduce((sum, { mutations }) => sum + mutations, 0),
      durationMs: clock.monotonic() - startedMs,
    }));
    return undefined;
  }

  /** After an outage nobody sits out a wait of up to half a minute; a single conflict keeps its short one. */
  #recovered(): void {
    if (this.#failuresInRow === 0) return;
    if (this.#failuresInRow >= this.#deps.settings.degradedAfter) this.#pauses.endAll();
    this.#failuresInRow = 0;
    this.#deps.troubles.clear(storeCause);
  }

  /** What no plug has classified is the record's fault only if the store is well at the same time (ING-536). */
  async #classify(group: readonly Ready[], error: unknown): Promise<MillraceError> {
    const key = group.map(({ part }) => part.key).join(', ');
    const reason = messageOf(error);
    try {
      await this.#deps.graph.probe();
    } catch (silence) {
      return drainFailed({ key, reason: `${reason}; ${messageOf(silence)}` }, error);
    }
    return applyFailed({ key, reason }, error);
  }

  async #wait(group: readonly Ready[], error: MillraceError, attempt: number): Promise<void> {
    const { settings, chance, troubles } = this.#deps;
    const delayMs = backoffMs(settings.backoff, attempt, chance);
    this.#failuresInRow += 1;
    if (this.#failuresInRow >= settings.degradedAfter) troubles.raise(storeCause, error);
    applyRetried.publish(() => ({
      class: error.disposition,
      code: error.code,
      message: error.message,
      attempt,
      delayMs,
    }));
    for (const { onWait } of group) onWait({ attempt, error });
    await this.#pauses.pause(delayMs);
    for (const { onWait } of group) onWait(undefined);
  }
}

function settleAll(group: readonly Ready[], outcome: GroupOutcome): void {
  for (const { settle } of group) settle(outcome);
}
