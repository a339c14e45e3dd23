import type { Clock } from '#base';
import type { Drain } from '#drain';

/** A group of the drain is applied and committed within this, or who wants a pause waits for the next try. */
const pauseMsMax = 60_000;

/** Runs a short act while no group of the drain is on its way; rejects when one does not end in time, or `stopping` is aborted. */
export async function whilePaused<T>(
  { drain, clock }: { readonly drain: Pick<Drain, 'pause'>; readonly clock: Clock },
  stopping: AbortSignal,
  act: () => Promise<T>,
): Promise<T> {
  const patience = new AbortController();
  const timer = clock.after(pauseMsMax, () =>
    patience.abort(new Error('a group of the drain does not end')),
  );
  try {
    const goOn = await drain.pause(AbortSignal.any([patience.signal, stopping]));
    try {
      return await act();
    } finally {
      goOn();
    }
  } finally {
    timer.cancel();
  }
}
