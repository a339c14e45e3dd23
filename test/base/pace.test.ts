import { describe, expect, it } from 'vitest';
import { createPace, type Clock } from '#base';

/** A clock on which only work and rests take time. */
function workClock(): { readonly clock: Clock; work(ms: number): void; readonly rests: number[] } {
  let nowMs = 0;
  const rests: number[] = [];
  const clock: Clock = {
    now: () => nowMs,
    monotonic: () => nowMs,
    sleep: async (ms) => {
      rests.push(ms);
      nowMs += ms;
    },
    after: () => ({ cancel: () => undefined }),
    endOfTurn: () => Promise.resolve(),
  };
  return {
    clock,
    rests,
    work: (ms) => {
      nowMs += ms;
    },
  };
}

describe('the pace of work that nobody waits for', () => {
  it('begins quickly, and takes no more than its share of the time after that (ING-808)', async () => {
    const { clock, work, rests } = workClock();
    const { step } = createPace({
      clock,
      share: 0.01,
      quickSteps: 4,
      restMsMin: 20,
      stepsAtOnce: 2,
    });
    const { signal } = new AbortController();
    for (let done = 0; done < 8; done += 1) {
      work(5);
      await step(signal);
    }
    expect(rests.map(Math.round)).toEqual([20, 20, 990, 990]);
  });

  it('ends with the reason of its signal', async () => {
    const { clock } = workClock();
    const { step } = createPace({ clock, share: 0.5, quickSteps: 0, restMsMin: 1, stepsAtOnce: 1 });
    await expect(step(AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  });
});
