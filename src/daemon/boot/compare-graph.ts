import { isMillraceError, messageOf } from '#base';
import { suspectKeys, type Drain, type SuspectDependencies } from '#drain';
import { graphMismatch } from '#graph';
import { daemonNoticed } from '#signals';

/** More sessions than that are not woken: each keeps its worker, and all of them would say the same. */
const wokenMax = 1000;

type ComparedParts = SuspectDependencies & {
  readonly drain: Pick<Drain, 'wake'>;
  /** Deletions that a kill cut off have come to their end, or failed: in the midst of one the graph lacks what the queue still has. */
  readonly afterDeletions?: Promise<void> | undefined;
};

export interface Comparison {
  /** Queue and graph were looked at over all sessions, and none differed. */
  readonly hasAgreed: boolean;
  stop(): Promise<void>;
}

/**
 * Lets queue and graph compare notes over all sessions, those at rest too, soon after a start and beside whoever drains (ING-541): each session that
 * looks wrong gets a worker, which stands still and says so, or finds that all is well. Nobody waits for it. `isVouched`: both lie there as a stop in
 * order left them, after they had agreed; then there is nothing to look at.
 */
export function compareGraph(parts: ComparedParts, isVouched: boolean): Comparison {
  if (isVouched) return { hasAgreed: true, stop: () => Promise.resolve() };
  // The rows of a restored root name another one until they are adopted.
  if (parts.bond.restoredFrom !== null) return { hasAgreed: false, stop: () => Promise.resolve() };
  const ending = new AbortController();
  let hasAgreed = false;
  const running = run(parts, ending.signal).then((woken) => {
    hasAgreed = woken === 0;
  });
  return {
    get hasAgreed() {
      return hasAgreed;
    },
    async stop() {
      ending.abort();
      await running;
    },
  };
}

/** How many were woken; undefined when it was not looked at all of them. */
async function run(parts: ComparedParts, signal: AbortSignal): Promise<number | undefined> {
  let woken = 0;
  try {
    await orAborted(parts.afterDeletions ?? Promise.resolve(), signal);
    for await (const key of suspectKeys(parts, signal)) {
      parts.drain.wake(key);
      woken += 1;
      if (woken < wokenMax) continue;
      const message = `queue and graph differ in ${woken} sessions or more; the others are compared when an event of theirs comes`;
      daemonNoticed.publish(() => ({ code: graphMismatch.code, message }));
      return woken;
    }
    return woken;
  } catch (error) {
    if (signal.aborted) return undefined;
    const code = isMillraceError(error) ? error.code : 'COMPARE_FAILED';
    daemonNoticed.publish(() => ({ code, message: messageOf(error) }));
    return undefined;
  }
}

async function orAborted(one: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  await Promise.race([one, promise]);
  signal.throwIfAborted();
}
