import { fenceStale, takeTenure, type Tenure, type TenureOrder } from '#fence';
import type { ControlDatabase } from '#control';
import { daemonNoticed } from '#signals';
import type { Clock } from '#base';
import { createClosers, type Closers } from './closers.ts';

/** Each store carries one mark, so a second look is enough; a third would be a store that does not mean what it says. */
const attemptsMax = 3;
const undoMs = 10_000;

export interface TakenOver<T> {
  readonly tenure: Tenure;
  readonly stores: T;
  readonly closers: Closers;
}

/**
 * Takes the tenure and opens the stores with it. A store whose mark is above the generation just given shows that the row was set back
 * (restored, copied): the tenure is taken again above that mark, and an alert tells of it (FEN-113). Safe because `root.lock` is held.
 */
export async function takeOver<T>(
  control: ControlDatabase,
  order: TenureOrder,
  clock: Clock,
  open: (tenure: Tenure, closers: Closers) => Promise<T>,
): Promise<TakenOver<T>> {
  let atLeast = order.atLeast ?? 0;
  for (let attempt = 1; ; attempt++) {
    const tenure = takeTenure(control, { ...order, atLeast });
    const closers = createClosers();
    try {
      return { tenure, stores: await open(tenure, closers), closers };
    } catch (error) {
      await closers.closeAll(clock, clock.monotonic() + undoMs);
      tenure.release();
      const mark = fenceStale.is(error) ? Number(error.details['mark']) : Number.NaN;
      if (attempt >= attemptsMax || !Number.isSafeInteger(mark)) throw error;
      atLeast = mark;
      daemonNoticed.publish(() => ({
        code: fenceStale.code,
        message: `a store carries generation ${mark}, above that of the control database, which was set back: the tenure is taken again above it`,
      }));
    }
  }
}
