import type { Clock } from './clock.ts';

export interface PaceOptions {
  readonly clock: Clock;
  /** Part of the time that the work may take, above 0 and below 1. */
  readonly share: number;
  /** So many steps go on without a rest: short work shall be done soon. */
  readonly quickSteps: number;
  /** The least rest, in ms. */
  readonly restMsMin: number;
  /** Steps between two rests. */
  readonly stepsAtOnce: number;
}

/**
 * Keeps work that nobody waits for to a share of the time: `step` resolves at once most of the time, and now and then after a rest that is as long as the
 * steps since the last one are to others. Rejects with the signal's reason.
 */
export function createPace(options: PaceOptions): { step(signal: AbortSignal): Promise<void> } {
  const { clock, share, quickSteps, restMsMin, stepsAtOnce } = options;
  let steps = 0;
  let sinceMs = clock.monotonic();
  return {
    async step(signal) {
      signal.throwIfAborted();
      steps += 1;
      if (steps % stepsAtOnce !== 0) return;
      const workedMs = clock.monotonic() - sinceMs;
      const restMs = steps <= quickSteps ? restMsMin : (workedMs * (1 - share)) / share;
      await clock.sleep(Math.max(restMsMin, restMs), signal);
      sinceMs = clock.monotonic();
    },
  };
}
