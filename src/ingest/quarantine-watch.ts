import type { Clock } from '#base';
import type { QueueLedger } from '#queue';
import type { Key } from '#record';

/** A look at the books counts for this long: it walks the keys in memory, and is no work for every request. */
const lookAgeMsMax = 250;
/** Quarantined keys that the header knows; more than this and the operator has other worries. */
const keysMax = 1000;

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
  hasAny(keys: readonly Key[]): boolean | Promise<boolean> {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#lookedAtMs <= lookAgeMsMax) return this.#isAmong(keys);
    this.#lookedAtMs = nowMs;
    if (this.#ledger.totals().quarantinedKeys > 0) return this.#look(keys);
    this.#keys = new Set();
    return false;
  }

  async #look(keys: readonly Key[]): Promise<boolean> {
    const found = await this.#ledger.listKeys({ state: 'quarantined', limit: keysMax });
    this.#keys = new Set(found.map(({ key }) => key));
    return this.#isAmong(keys);
  }

  #isAmong(keys: readonly Key[]): boolean {
    return this.#keys.size > 0 && keys.some((key) => this.#keys.has(key));
  }
}
