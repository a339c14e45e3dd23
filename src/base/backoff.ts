import type { Chance } from './chance.ts';

export interface Backoff {
  /** Wait before the second attempt. */
  readonly baseMs: number;
  /** No wait is longer, jitter included. */
  readonly maxMs: number;
  /** Share of the wait that chance may take off, 0 to 1; 0.5 where it is not given. */
  readonly jitter?: number;
}

/**
 * Milliseconds to wait after failure number `attempt` (1 for the first): the base doubles with each, up to the cap.
 * Jitter only shortens, so that many waiters spread out and the cap still holds.
 */
export function backoffMs(backoff: Backoff, attempt: number, chance: Chance): number {
  const doublings = Math.min(Math.max(attempt, 1) - 1, 52);
  const full = Math.min(backoff.baseMs * 2 ** doublings, backoff.maxMs);
  return Math.round(full * (1 - (backoff.jitter ?? 0.5) * chance.float()));
}
