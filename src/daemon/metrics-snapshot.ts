import type { FencePermit } from '#fence';
import type { OpsContext } from '#ops';
import type { MetricsSnapshot } from '#signals';
import { residualOf } from './watch-residual.ts';

/** Reads the gauges of one scrape. Until the stores are open, and after they are closed, the books show zeros. */
export async function metricsSnapshot(
  context: OpsContext | undefined,
  permit: FencePermit | undefined,
  reserveBytes: number,
): Promise<MetricsSnapshot> {
  const tenure = {
    tenureGeneration: permit?.generation ?? 0,
    isTenureHeld: permit?.isLive ?? false,
    diskReserveBytes: reserveBytes,
  };
  if (context === undefined) return { ...nothing, ...tenure };
  const totals = context.ledger.totals();
  const { freeBytes } = await context.disk();
  const { trouble } = context.drain.status();
  return {
    ...tenure,
    pending: totals.pending,
    backlogBytes: totals.backlogBytes,
    oldestPendingAgeMs:
      totals.oldestPendingMs === null
        ? 0
        : Math.max(0, context.clock.now() - totals.oldestPendingMs),
    activeKeys: totals.activeKeys,
    dead: totals.dead,
    quarantinedKeys: totals.quarantinedKeys,
    residual: residualOf(totals),
    isGraphUp: !trouble.some(({ code }) => code.startsWith('GRAPH_')),
    diskFreeBytes: freeBytes,
  };
}

const nothing = {
  pending: 0,
  backlogBytes: 0,
  oldestPendingAgeMs: 0,
  activeKeys: 0,
  dead: 0,
  quarantinedKeys: 0,
  residual: 0,
  isGraphUp: false,
  diskFreeBytes: 0,
} as const;
