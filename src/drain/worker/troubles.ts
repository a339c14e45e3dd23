import type { Clock } from '#base';
import type { DrainTrouble } from '../drain.ts';

/** Shown at once; the rest is counted, so that a status stays short however much is wrong. */
const shownMax = 20;

/** What keeps the drain from being well, by cause; an entry goes when its cause does. */
export class Troubles {
  readonly #clock: Clock;
  readonly #open = new Map<string, DrainTrouble>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  raise(cause: string, trouble: { readonly code: string; readonly message: string }): void {
    const since = this.#open.get(cause)?.since ?? new Date(this.#clock.now()).toISOString();
    this.#open.set(cause, { code: trouble.code, message: trouble.message, since });
  }

  clear(cause: string): void {
    this.#open.delete(cause);
  }

  list(): readonly DrainTrouble[] {
    const all = [...this.#open.values()];
    const left = all.slice(shownMax);
    const [first] = left;
    if (first === undefined) return all;
    const message = `and ${left.length} more like these; see "millrace sessions list"`;
    return [...all.slice(0, shownMax), { ...first, message }];
  }
}
