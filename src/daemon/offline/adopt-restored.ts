import { backoffMs, isMillraceError, messageOf, type Backoff } from '#base';
import type { Drain } from '#drain';
import type { Degradation, OpsContext } from '#ops';
import type { GraphBond } from '#queue';
import { daemonNoticed } from '#signals';
import type { Ground } from '../daemon.ts';

/** Attempts have no limit: events are taken meanwhile, and nothing is drained. */
const backoff: Backoff = { baseMs: 200, maxMs: 30_000 };

export interface RestoredAdoption {
  /** Not empty while an adopt that failed is to be tried again. */
  degraded(): readonly Degradation[];
  stop(): Promise<void>;
}

/**
 * Starts the drain; in a root that was restored only after its graph was adopted, which is done here without being asked, and again at the next
 * start if it was interrupted (ING-542, ING-820, C41).
 */
export function adoptRestored(
  ground: Pick<Ground, 'clock' | 'chance' | 'fail'>,
  bond: GraphBond,
  work: { readonly drain: Drain; readonly context: OpsContext },
): RestoredAdoption {
  const ending = new AbortController();
  let trouble: Degradation | undefined;
  if (bond.restoredFrom === null) {
    work.drain.start();
    return { degraded: () => [], stop: () => Promise.resolve() };
  }
  const running = run(ground, bond, work, ending.signal, (next) => {
    trouble = next;
  });
  return {
    degraded: () => (trouble === undefined ? [] : [trouble]),
    async stop() {
      ending.abort();
      await running;
    },
  };
}

async function run(
  { clock, chance, fail }: Pick<Ground, 'clock' | 'chance' | 'fail'>,
  bond: GraphBond,
  { drain, context }: { readonly drain: Drain; readonly context: OpsContext },
  signal: AbortSignal,
  tell: (trouble: Degradation | undefined) => void,
): Promise<void> {
  const since = new Date(clock.now()).toISOString();
  const backupId = bond.restoredFrom?.backupId ?? '';
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      await context.operations.run({
        verb: 'graph adopt',
        principal: 'restore',
        input: { restored_from: backupId },
        key: undefined,
        signal,
        countOf: ({ keys }) => keys,
        run: () => context.adopt({ isDryRun: false, signal }),
      });
      tell(undefined);
      drain.start();
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (isMillraceError(error) && ['fenced', 'fatal'].includes(error.disposition))
        return fail(error);
      const code = isMillraceError(error) ? error.code : 'ADOPT_FAILED';
      const message = `the graph of backup ${backupId} is not adopted yet, so nothing is drained: ${messageOf(error)}`;
      daemonNoticed.publish(() => ({ code, message }));
      tell({ code, message, since });
      await clock.sleep(backoffMs(backoff, attempt, chance), signal).catch(() => undefined);
    }
  }
}
