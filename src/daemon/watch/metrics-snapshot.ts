import type { FencePermit } from '#fence';
import { isMillraceError } from '#base';
import { platformCode } from '#disk';
import { degradations, type OpsContext } from '#ops';
import type { MetricsSnapshot } from '#signals';
import { residualOf } from './watch-residual.ts';

/** Reads the gauges of one scrape. Until the stores are open, and after they are closed, the books show zeros. */
export async function metricsSnapshot(
  context: OpsContext | undefined,
  permit: FencePermit | undefined,
  reserveBytes: number,
  deadExpiring: number,
): Promise<MetricsSnapshot> {
  const tenure = {
    tenureGeneration: permit?.generation ?? 0,
    isTenureHeld: permit?.isLive ?? false,
    diskReserveBytes: reserveBytes,
    deadExpiring,
  };
  if (context === undefined) return { ...nothing, ...tenure };
  const totals = context.ledger.totals();
  const diskFreeBytes = await freeBytesOf(context);
  const { trouble, waitingKeys, share } = context.drain.status();
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
    diskFreeBytes,
    degradedReasons: degradations(context).length,
    waitingKeys,
    drainShare: share,
    journalLagBytes: context.journalLagBytes(),
    openJobs: context.jobs.open(),
    streamClients: context.feed.watchers,
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
  degradedReasons: 0,
  waitingKeys: 0,
  drainShare: 1,
  journalLagBytes: 0,
  openJobs: 0,
  streamClients: 0,
} as const;

/** Metrics are read most of all when something is wrong: a disk that does not tell its space takes no others away. */
async function freeBytesOf(context: OpsContext): Promise<number> {
  try {
    return (await context.disk()).freeBytes;
  } catch (error) {
    if (platformCode(error) === undefined && !isMillraceError(error)) throw error;
    return Number.NaN;
  }
}
