import { isMillraceError, messageOf } from '#base';
import { suspectKeys, type Drain, type SuspectDependencies } from '#drain';
import { daemonNoticed } from '#signals';

/**
 * Lets queue and graph compare notes over all sessions, those at rest too, soon after a start and beside whoever drains (ING-541): each session that
 * looks wrong gets a worker, which stands still and says so, or finds that all is well. Nobody waits for it.
 */
export function compareGraph(
  dependencies: SuspectDependencies & { readonly drain: Pick<Drain, 'wake'> },
): { stop(): Promise<void> } {
  // The rows of a restored root name another one until they are adopted.
  if (dependencies.bond.restoredFrom !== null) return { stop: () => Promise.resolve() };
  const ending = new AbortController();
  const running = run(dependencies, ending.signal);
  return {
    async stop() {
      ending.abort();
      await running;
    },
  };
}

async function run(
  dependencies: SuspectDependencies & { readonly drain: Pick<Drain, 'wake'> },
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const key of suspectKeys(dependencies, signal)) dependencies.drain.wake(key);
  } catch (error) {
    if (signal.aborted) return;
    const code = isMillraceError(error) ? error.code : 'COMPARE_FAILED';
    daemonNoticed.publish(() => ({ code, message: messageOf(error) }));
  }
}
