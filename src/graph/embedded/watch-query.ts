import type { Clock } from '#base';
import { beganAt } from './wire.ts';

/** A query looks at its clock by itself; this much longer it may take until it comes to that. */
const graceMs = 2000;

/**
 * Calls `kill` for a query that has begun and does not come back: a regular expression may go on for years, and only the end of its thread ends it. A
 * query that waits behind others has not begun. Returns the function that ends the watch.
 */
export function watchQuery(
  clock: Clock,
  timeMs: number,
  shared: SharedArrayBuffer,
  kill: () => void,
): () => void {
  const flags = new Int32Array(shared);
  const hasBegun = (): boolean => Atomics.load(flags, beganAt) === 1;
  let wasBegun = false;
  let timer = clock.after(timeMs + graceMs, look);
  function look(): void {
    // It had begun a whole time ago.
    if (wasBegun) {
      kill();
      return;
    }
    wasBegun = hasBegun();
    timer = clock.after(timeMs + graceMs, look);
  }
  return () => timer.cancel();
}
