import type { Clock } from '#base';

/** `failed`: what could not be closed before it. */
export type Close = (deadlineMs: number, failed: readonly CloseFailure[]) => Promise<void> | void;

/** What was opened, to be closed in reverse by whoever opened it. */
export interface Closers {
  /** `close` may look at the monotonic deadline of the whole. */
  add(name: string, close: Close): void;
  /**
   * Closes everything, newest first, and returns what failed. A close that is not done at `deadlineMs` (monotonic) is left behind, and the
   * next one is begun: kill -9 would leave no more (P10).
   */
  closeAll(clock: Clock, deadlineMs: number): Promise<readonly CloseFailure[]>;
  /** Hands everything over to another holder, which closes it from then on. */
  moveTo(other: Closers): void;
}

export interface CloseFailure {
  readonly name: string;
  readonly error: unknown;
}

/** Even past the deadline each close gets this long: most are done in a millisecond. */
const closeMsLeast = 250;

export function createClosers(): Closers {
  const open: { readonly name: string; readonly close: Close }[] = [];
  return {
    add(name, close) {
      open.push({ name, close });
    },
    async closeAll(clock, deadlineMs) {
      const failures: CloseFailure[] = [];
      for (let one = open.pop(); one !== undefined; one = open.pop()) {
        const leftMs = Math.max(closeMsLeast, deadlineMs - clock.monotonic());
        const { name } = one;
        const error = await failureWithin(() => one.close(deadlineMs, failures), leftMs, clock);
        if (error !== undefined) failures.push({ name, error });
      }
      return failures;
    },
    moveTo(other) {
      for (const { name, close } of open.splice(0)) other.add(name, close);
    },
  };
}

/** Undefined when it closed in time. */
async function failureWithin(
  close: () => Promise<void> | void,
  ms: number,
  clock: Clock,
): Promise<unknown> {
  const enough = new AbortController();
  const late = clock
    .sleep(ms, enough.signal)
    .then(() => new Error(`not closed within ${Math.round(ms)} ms`))
    .catch((reason: unknown) => reason);
  try {
    return await Promise.race([late, outcomeOf(close)]);
  } finally {
    enough.abort();
  }
}

async function outcomeOf(close: () => Promise<void> | void): Promise<unknown> {
  try {
    await close();
    return undefined;
  } catch (error) {
    return error;
  }
}
