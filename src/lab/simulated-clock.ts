import type { Clock, Timer } from '#base';

interface Waiter {
  readonly dueMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that stands still until it is moved; timers and sleeps run in order of their due time. */
export interface SimulatedClock extends Clock {
  /** Moves both clocks on; lets the event loop turn after each timer, so that what it woke can set the next. */
  advance(ms: number): Promise<void>;
  /** Sets the wall clock alone, as an administrator does; durations are not touched. */
  setWallClock(epochMs: number): void;
  /** Timers and sleeps that have not run. */
  waitingCount(): number;
}

export function simulatedClock(startMs: number = Date.UTC(2026, 0, 1)): SimulatedClock {
  let wallOffsetMs = startMs;
  let elapsedMs = 0;
  let nextOrder = 0;
  const waiters = new Set<Waiter>();

  const add = (ms: number, run: () => void): Waiter => {
    const waiter: Waiter = { dueMs: elapsedMs + Math.max(0, ms), order: nextOrder, run };
    nextOrder += 1;
    waiters.add(waiter);
    return waiter;
  };
  const nextDue = (untilMs: number): Waiter | undefined =>
    [...waiters]
      .filter(({ dueMs }) => dueMs <= untilMs)
      .toSorted((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0];

  return {
    now: () => wallOffsetMs + elapsedMs,
    monotonic: () => elapsedMs,
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason as Error);
          return;
        }
        const onAbort = (): void => {
          waiters.delete(waiter);
          reject(signal?.reason as Error);
        };
        const waiter = add(ms, () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        });
        signal?.addEventListener('abort', onAbort, { once: true });
      });
    },
    after(ms, fn): Timer {
      const waiter = add(ms, fn);
      return { cancel: () => waiters.delete(waiter) };
    },
    async advance(ms) {
      const untilMs = elapsedMs + ms;
      await turn();
      for (let due = nextDue(untilMs); due !== undefined; due = nextDue(untilMs)) {
        waiters.delete(due);
        elapsedMs = Math.max(elapsedMs, due.dueMs);
        due.run();
        await turn();
      }
      elapsedMs = untilMs;
    },
    setWallClock(epochMs) {
      wallOffsetMs = epochMs - elapsedMs;
    },
    endOfTurn: () => Promise.resolve(),
    waitingCount: () => waiters.size,
  };
}

/** One turn of the event loop: every promise that could settle has settled. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
