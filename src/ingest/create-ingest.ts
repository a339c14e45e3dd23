import type { Principal } from '#access';
import { formatBytes, type Clock } from '#base';
import {
  draining,
  queueFull,
  queueWriteFailed,
  type AppendOptions,
  type AppendOutcome,
  type QueueBackend,
  type QueueLedger,
} from '#queue';
import type { Acceptance, Key, KeyEncoding } from '#record';
import { recordsAccepted } from '#signals';
import { acceptedGroups } from './accepted-groups.ts';
import { beginAdmission, isCandidate, isReject, type Admission, type Entry } from './admit.ts';
import { ByteBudget } from './byte-budget.ts';
import type { Candidate, Sender } from './candidate.ts';
import { batchRefused, batchTooLarge } from './errors.ts';
import type {
  Ingest,
  IngestAnswer,
  IngestLimits,
  IngestRequest,
  OnAppended,
  Reject,
} from './ingest.ts';
import { KeyCache } from './key-cache.ts';
import { QuarantineWatch } from './quarantine-watch.ts';
import type { Redaction } from './live-redaction.ts';
import { settleEntries } from './settle-entries.ts';
import { waitDeadlines } from './wait-deadlines.ts';

export interface IngestOptions {
  readonly queue: QueueBackend;
  readonly ledger: QueueLedger;
  readonly clock: Clock;
  readonly limits: IngestLimits;
  readonly keyEncoding: KeyEncoding;
  readonly onAppended: OnAppended;
  /** Takes out what must not be stored (`ingest.redact`). */
  readonly redact?: Redaction;
}

/** A body above it looks at the queue's state before it is read; a smaller one is cheaper to read than to ask. */
const largeBodyBytes = 1024 * 1024;

export function createIngest(options: IngestOptions): Ingest {
  return new QueueIngest(options);
}

class QueueIngest implements Ingest {
  readonly #options: IngestOptions;
  readonly #budget: ByteBudget;
  readonly #quarantine: QuarantineWatch;
  readonly #deadline: () => AbortSignal;
  readonly #keys: KeyCache;
  #inFlight = 0;
  #lastTime = { ms: 0, text: isoText(0) };
  #isStopping = false;
  #whenEmpty: (() => void)[] = [];

  constructor(options: IngestOptions) {
    this.#options = options;
    this.#keys = new KeyCache(options.keyEncoding);
    this.#budget = new ByteBudget(options.limits.inFlightBytesMax);
    this.#quarantine = new QuarantineWatch(options.ledger, options.clock);
    this.#deadline = waitDeadlines(options.clock, options.limits.idWaitMs);
  }

  reserve(bytes: number): void {
    this.#budget.reserve(bytes);
  }

  release(bytes: number): void {
    this.#budget.release(bytes);
  }

  checkSize(wireBytes: number): void {
    this.#checkRunning();
    const { ledger, limits } = this.#options;
    checkBatchBytes(wireBytes, limits);
    this.#budget.check(wireBytes);
    if (wireBytes <= largeBodyBytes) return;
    const trouble = ledger.trouble().find(({ isRefusing }) => isRefusing);
    if (trouble !== undefined) throw queueWriteFailed({ reason: trouble.message });
    const { backlogBytes } = ledger.totals();
    if (backlogBytes + wireBytes <= limits.queueBytesMax) return;
    throw queueFull({
      limit: 'queue.max_bytes',
      usedBytes: backlogBytes,
      limitBytes: limits.queueBytesMax,
    });
  }

  async accept(request: IngestRequest): Promise<IngestAnswer> {
    this.#checkRunning();
    checkBatchBytes(request.body.byteLength, this.#options.limits);
    this.#inFlight += 1;
    try {
      const sender = this.#senderOf(request.principal);
      const admission = beginAdmission(request, sender, this.#options.limits);
      while (!admission.takePortion()) await this.#options.clock.sleep(0);
      const candidates = candidatesOf(admission.entries, request.isAtomic);
      const stored = candidates.length === 0 ? [] : await this.#append(candidates, request);
      this.#announce(candidates, stored);
      const answer = this.#answer(admission, stored, sender.acceptance);
      if (request.isAtomic === true && answer.rejects.length > 0)
        throw batchRefused({ errors: answer.rejects.filter(isCause) });
      const looked = this.#quarantine.hasAny(candidates);
      if (looked === false) return answer;
      return { ...answer, isQuarantined: await looked };
    } finally {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) for (const told of this.#whenEmpty.splice(0)) told();
    }
  }

  stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenEmpty.push(resolve);
    });
  }

  // What follows is no part of `accept` so that little has to be kept of a request that waits.

  #senderOf(principal: Principal): Sender {
    return {
      redact: this.#options.redact,
      principal,
      acceptance: {
        acceptedAt: this.#timeText(this.#options.clock.now()),
        by: principal.name,
      },
      keys: this.#keys,
    };
  }

  #append(
    candidates: readonly Candidate[],
    { isAtomic = false }: IngestRequest,
  ): Promise<readonly AppendOutcome[]> {
    return this.#options.queue.append(candidates, this.#appendOptions(candidates, isAtomic));
  }

  #answer(
    { isSingle, entries }: Admission,
    stored: readonly AppendOutcome[],
    { acceptedAt }: Acceptance,
  ): IngestAnswer {
    const { outcomes, queuedCount, duplicateCount, rejects } = settleEntries(entries, stored);
    return {
      isSingle,
      acceptedAt,
      durability: this.#options.queue.capabilities.fsync,
      outcomes,
      queuedCount,
      duplicateCount,
      rejects,
      isQuarantined: false,
    };
  }

  #checkRunning(): void {
    if (this.#isStopping) throw draining({ what: 'the daemon' });
  }

  /** A busy daemon takes many requests in one millisecond, and a text costs as much as a key. */
  #timeText(nowMs: number): string {
    if (nowMs !== this.#lastTime.ms) this.#lastTime = { ms: nowMs, text: isoText(nowMs) };
    return this.#lastTime.text;
  }

  /** Once for each run of records of one key: a hint may be repeated at will. */
  #announce(candidates: readonly Candidate[], stored: readonly AppendOutcome[]): void {
    let last: Key | undefined;
    for (let at = 0; at < candidates.length; at += 1) {
      const key = candidates[at]?.key;
      if (key === undefined || key === last || stored[at]?.status !== 'queued') continue;
      last = key;
      this.#options.onAppended(key);
    }
    recordsAccepted.publish(() => ({ groups: acceptedGroups(candidates, stored) }));
  }

  /** Only a record with an id can have to wait for another request (ING-520). */
  #appendOptions(candidates: readonly Candidate[], isAtomic: boolean): AppendOptions | undefined {
    const hasId = candidates.some(({ eventId }) => eventId !== undefined);
    if (!hasId) return isAtomic ? { atomic: true } : undefined;
    return { signal: this.#deadline(), atomic: isAtomic };
  }
}

/** Those that passed; throws BATCH_REFUSED where it is all or nothing and one did not. */
function candidatesOf(
  entries: readonly Entry[],
  isAtomic: boolean | undefined,
): readonly Candidate[] {
  if (entries.every(isCandidate)) return entries;
  if (isAtomic === true) throw batchRefused({ errors: entries.filter(isReject) });
  return entries.filter(isCandidate);
}

function isoText(ms: number): string {
  return new Date(ms).toISOString();
}

/** Not the records that could have been stored, had the others been sound. */
function isCause({ code }: Reject): boolean {
  return code !== batchRefused.code;
}

function checkBatchBytes(bytes: number, { batchBytesMax }: IngestLimits): void {
  if (bytes <= batchBytesMax) return;
  throw batchTooLarge({
    reason: `the body has ${bytes} bytes; ingest.max_batch_bytes is ${formatBytes(batchBytesMax)}: send it in parts`,
  });
}
