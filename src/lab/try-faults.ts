import type { Clock } from '#base';
import { tryDrainFaults } from './drain-faults.ts';
import { faultOf, liveThrough, troubles, type Trouble } from './fault-life.ts';
import { eventfulLife } from './history.ts';
import { failuresMax, type LabFailure, type LabReport, type Progress } from './report.ts';
import { deepMessage } from './try-sweep.ts';

export interface FaultOrder {
  readonly seed: number;
  /** Every call fails in turn where it is 1; every third where it is 3, in another third for each kind of trouble. */
  readonly stride: number;
  readonly clock: Clock;
  readonly progress: Progress;
}

interface Counts extends Record<string, number> {
  diskFaults: number;
  storeFaults: number;
}

/** `millrace lab faults`: fails the nth call of the disk and of the stores, for every n, once and from there on (P1, P3, P4). */
export async function tryFaults(order: FaultOrder): Promise<LabReport> {
  const { seed, clock } = order;
  const began = clock.monotonic();
  const counts: Counts = { diskFaults: 0, storeFaults: 0 };
  const failures: LabFailure[] = [];
  for (const [at, trouble] of troubles.entries())
    for (const times of [1, Number.POSITIVE_INFINITY])
      await failEach(order, trouble, times, 1 + ((seed + at) % order.stride), counts, failures);
  failures.push(...(await tryDrainFaults(order, (count) => (counts.storeFaults += count))));
  return { experiment: 'faults', seed, counts, failures, durationMs: clock.monotonic() - began };
}

async function failEach(
  { stride, progress, seed }: FaultOrder,
  trouble: Trouble,
  times: number,
  first: number,
  counts: Counts,
  failures: LabFailure[],
): Promise<void> {
  const lasting = times === 1 ? 'once' : 'from there on';
  for (let nth = first; failures.length < failuresMax; nth += stride) {
    try {
      const { hits } = await liveThrough(faultOf(trouble, nth, times), eventfulLife);
      if (hits === 0) return;
      counts.diskFaults += 1;
    } catch (error) {
      failures.push({
        seed,
        message: `${trouble} at call ${nth}, ${lasting}: ${deepMessage(error)}`,
        replay: `millrace lab faults --seed ${seed} --every ${stride}`,
      });
    }
    if (counts.diskFaults % 100 === 0) progress(`${counts.diskFaults} faults of the disk`);
  }
}
