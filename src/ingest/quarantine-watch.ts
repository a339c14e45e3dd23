import type { Clock } from '#base';
import type { QueueLedger } from '#queue';
import type { Key } from '#record';

/** A look at the books counts for this long: it walks the keys in memory, and is no work for every request. */
const lookAgeMsMax = 250;
/** Quarantined keys that the header knows; more than this and the operator has other worries. */
const keysMax = 1000;

interface Keyed {
  readonly key: Key;
}

/** Which keys are in quarantine, for the hint in the answer (ING-411). At most a quarter of a second old. */
export class QuarantineWatch {
  readonly #ledger: QueueLedger;
  readonly #clock: Clock;
  #keys: ReadonlySet<Key> = new Set();
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(ledger: QueueLedger, clock: Clock) {
    this.#ledger = ledger;
    this.#clock = clock;
  }

  /** A promise only when some key is in quarantine and the last look is old. */
  hasAny(records: readonly Keyed[]): boolean | Promise<boolean> {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#lookedAtMs <= lookAgeMsMax) return this.#isAmong(records);
    this.#lookedAtMs = nowMs;
    if (this.#ledger.totals().quarantinedKeys > 0) return this.#look(records);
    this.#keys = new Set();
    return false;
  }

  async #look(records: readonly Keyed[]): Promise<boolean> {
    const found = await this.#ledger.listKeys({ state: 'quarantined', limit: keysMax });
    this.#keys = new Set(found.map(({ key }) => key));
    return this.#isAmong(records);
  }

  #isAmong(records: readonly Keyed[]): boolean {
    return this.#keys.size > 0 && records.some(({ key }) => this.#keys.has(key));
  }
}
