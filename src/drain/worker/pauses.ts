import type { Clock, Timer } from '#base';

interface Pause {
  readonly timer: Timer;
  readonly end: () => void;
}

/** Waits that end early when what they wait for has come, or the drain stops. Nobody's wait holds the process open. */
export class Pauses {
  readonly #clock: Clock;
  readonly #open = new Set<Pause>();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after `ms`, at the next `endAll`, or at once when closed. */
  pause(ms: number): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        this.#open.delete(pause);
        pause.timer.cancel();
        resolve();
      };
      const pause: Pause = { timer: this.#clock.after(ms, end), end };
      this.#open.add(pause);
    });
  }

  endAll(): void {
    for (const { end } of this.#open) end();
  }

  close(): void {
    this.#isClosed = true;
    this.endAll();
  }
}
