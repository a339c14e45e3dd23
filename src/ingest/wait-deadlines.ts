import type { Clock } from '#base';
import { queueWriteFailed } from '#queue';

/** Requests of one slot share a signal, so a request costs no timer of its own. */
const slotMs = 500;

/**
 * Signals that abort when a request has waited long enough for an id in flight (ING-520): after `waitMs` to `waitMs` + half a second. The
 * reason is the error that the request is answered with.
 */
export function waitDeadlines(clock: Clock, waitMs: number): () => AbortSignal {
  let signal: AbortSignal | undefined;
  let slotEndMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = clock.monotonic();
    if (signal !== undefined && nowMs < slotEndMs) return signal;
    const controller = new AbortController();
    clock.after(waitMs + slotMs, () =>
      controller.abort(
        queueWriteFailed({
          reason: `another request with the same event id is not finished after ${waitMs} ms`,
        }),
      ),
    );
    slotEndMs = nowMs + slotMs;
    ({ signal } = controller);
    return signal;
  };
}
