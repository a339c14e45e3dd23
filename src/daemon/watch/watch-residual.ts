import type { Clock } from '#base';
import type { Degradation } from '#ops';
import type { QueueTotals } from '#queue';
import { repeat } from '../repeat.ts';

/** accepted = applied + pending + dead + discarded, or this is not 0 (ING-717). */
export function residualOf(totals: QueueTotals): number {
  return totals.accepted - totals.applied - totals.pending - totals.dead - totals.discarded;
}

export interface ResidualWatch {
  /** Not empty once a residual has stayed for longer than the grace. */
  degraded(): readonly Degradation[];
  end(): void;
}

/** Counters of one frame may be read half-way for a moment; what stays is a lost or doubled record, and the status says so. */
export function watchResidual(
  clock: Clock,
  totals: () => QueueTotals,
  graceMs: number,
): ResidualWatch {
  let since: { readonly monotonicMs: number; readonly at: string } | undefined;
  let residual = 0;
  const look = (): Promise<void> => {
    residual = residualOf(totals());
    if (residual === 0) since = undefined;
    else since ??= { monotonicMs: clock.monotonic(), at: new Date(clock.now()).toISOString() };
    return Promise.resolve();
  };
  return {
    degraded() {
      if (since === undefined || clock.monotonic() - since.monotonicMs < graceMs) return [];
      const message = `${residual} accepted records are neither applied, pending, dead nor discarded`;
      return [{ code: 'CONSERVATION_RESIDUAL', message, since: since.at }];
    },
    end: repeat(clock, Math.max(100, graceMs / 10), look),
  };
}
