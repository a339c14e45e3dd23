/** Time is passed in (D18), so that simulation and crash tests own it. */
export interface Clock {
  /** Wall clock in epoch milliseconds. */
  now(): number;
  /** Monotonic clock in milliseconds, for durations and deadlines. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs `fn` once after `ms`, never holding the process open. */
  after(ms: number, fn: () => void): Timer;
  /** Resolves when what the event loop has read in this turn is handled; at once where there is no loop to wait for. */
  endOfTurn(): Promise<void>;
}

export interface Timer {
  cancel(): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, ms);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  },
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  endOfTurn: () => new Promise((resolve) => setImmediate(resolve)),
};
