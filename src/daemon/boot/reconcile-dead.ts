import { isMillraceError, messageOf } from '#base';
import type { LogRepair } from '#queue';
import { daemonNoticed } from '#signals';

/**
 * Passes dead records that lead, over all keys, beside whoever drains (ING-705): it only hurries what each key's first read does by itself
 * (ING-706), so nobody waits for it and a failure is told and no more.
 */
export function reconcileDead(logs: Pick<LogRepair, 'reconcileAllDead'>): {
  stop(): Promise<void>;
} {
  const ending = new AbortController();
  const running = run(logs, ending.signal);
  return {
    async stop() {
      ending.abort();
      await running;
    },
  };
}

async function run(logs: Pick<LogRepair, 'reconcileAllDead'>, signal: AbortSignal): Promise<void> {
  try {
    const { failed } = await logs.reconcileAllDead(signal);
    if (failed.length === 0) return;
    const message = `${failed.length} sessions could not be looked at for dead letters that lead, such as ${failed[0]}`;
    daemonNoticed.publish(() => ({ code: 'RECONCILE_FAILED', message }));
  } catch (error) {
    if (signal.aborted) return;
    const code = isMillraceError(error) ? error.code : 'RECONCILE_FAILED';
    daemonNoticed.publish(() => ({ code, message: messageOf(error) }));
  }
}
