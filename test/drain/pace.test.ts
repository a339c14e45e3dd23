import { describe, expect, it } from 'vitest';
import { systemClock, watchCore } from '#base';
import { DrainPace } from '../../src/drain/pace/drain-pace.ts';
import { lagWholeMs, nextShare, shareLeast } from '../../src/drain/pace/next-share.ts';
import { Pauses } from '../../src/drain/worker/pauses.ts';
import { fakeClock } from '../support/clock.ts';

const batchBytes = 100_000;

/** A drain on a machine whose cores are as busy as the test says. */
function paced(): {
  readonly clock: ReturnType<typeof fakeClock>;
  readonly pace: DrainPace;
  /** One look: 100 ms later a batch is committed. */
  look(waitedPart: number): Promise<void>;
} {
  const clock = fakeClock();
  let waitedMs = 0;
  const pauses = new Pauses(clock);
  const pace = new DrainPace({ clock, pauses, waitedMs: () => waitedMs });
  return {
    clock,
    pace,
    async look(waitedPart) {
      await clock.advance(100);
      waitedMs = 100 * waitedPart;
      pace.appended();
      pace.committed(0);
    },
  };
}

async function pressed(): Promise<ReturnType<typeof paced>> {
  const all = paced();
  for (let turn = 0; turn < 12; turn += 1) await all.look(0.4);
  expect(all.pace.share).toBe(shareLeast);
  return all;
}

describe('the share of the drain', () => {
  const press = { hasAppends: true, waitedPart: 0.4, lagMs: 0 };

  it('halves while clients wait for a core, down to a part that it always keeps (P9)', () => {
    const shares = [1];
    for (let turn = 0; turn < 8; turn += 1) shares.push(nextShare(shares.at(-1) ?? 1, press));
    expect(shares.slice(0, 4)).toEqual([1, 0.5, 0.25, 0.125]);
    expect(shares.at(-1)).toBe(shareLeast);
  });

  it('comes back when nobody asks any more, or cores are free', () => {
    for (const eased of [
      { ...press, hasAppends: false },
      { ...press, waitedPart: 0.02 },
    ]) {
      let share = shareLeast;
      let turns = 0;
      for (; share < 1; turns += 1) share = nextShare(share, eased);
      expect(turns).toBeLessThanOrEqual(8);
    }
  });

  it('stays where the cores are busy and nobody waits long', () => {
    expect(nextShare(0.5, { ...press, waitedPart: 0.1 })).toBe(0.5);
  });

  it('grows with the square of what the graph is behind, up to all of it', () => {
    expect(nextShare(0.1, { ...press, lagMs: lagWholeMs / 2 })).toBe(0.25);
    expect(nextShare(0.1, { ...press, lagMs: lagWholeMs / 10 })).toBe(shareLeast);
    expect(nextShare(0.5, { ...press, lagMs: lagWholeMs * 3 })).toBe(1);
  });
});

describe('the pace of the drain', () => {
  it('lets every batch begin at once while it has all it wants', async () => {
    const { pace, clock } = paced();
    for (let batch = 0; batch < 100; batch += 1) {
      await pace.turn();
      pace.began(batchBytes);
    }
    expect(clock.waitingCount()).toBe(0);
  });

  it('takes no more than its share of a core while clients wait for one', async () => {
    const { pace, clock } = await pressed();
    let begun = 0;
    const over = new AbortController();
    const worker = async (): Promise<void> => {
      while (!over.signal.aborted) {
        await pace.turn();
        pace.folded(batchBytes, 5);
        pace.began(batchBytes);
        begun += 1;
      }
    };
    for (let measured = 0; measured < 50; measured += 1) pace.folded(batchBytes, 5);
    const workers = Array.from({ length: 8 }, worker);
    await clock.advance(10_000);
    over.abort();
    pace.open();
    await Promise.all(workers);
    // 5 ms each in 10 s, and what may be begun ahead.
    const allowed = (10_000 * shareLeast) / 5;
    expect(begun).toBeGreaterThan(allowed * 0.8);
    expect(begun).toBeLessThan(allowed * 1.2 + workers.length);
  });

  it('lets a lone record through at once, however small its share is', async () => {
    const { pace, clock } = await pressed();
    await clock.advance(2000);
    await pace.turn();
    expect(clock.waitingCount()).toBe(0);
  });

  it('lets all go on when the press is over', async () => {
    const { pace, look } = await pressed();
    for (let batch = 0; batch < 4; batch += 1) {
      void pace.turn();
      pace.began(batchBytes);
    }
    const waiting = [pace.turn(), pace.turn()];
    for (let turn = 0; turn < 12; turn += 1) await look(0);
    expect(pace.share).toBe(1);
    pace.began(0);
    await Promise.all(waiting);
  });

  it('holds nobody when the drain stops (P10)', async () => {
    const { pace } = await pressed();
    for (let batch = 0; batch < 4; batch += 1) {
      void pace.turn();
      pace.began(batchBytes * 100);
    }
    const waiting = [pace.turn(), pace.turn(), pace.turn(), pace.turn(), pace.turn(), pace.turn()];
    pace.open();
    await Promise.all(waiting);
  });

  it('says nothing of a time in which the drain had nothing to do', async () => {
    const clock = fakeClock();
    const pace = new DrainPace({ clock, pauses: new Pauses(clock), waitedMs: () => 50_000 });
    await clock.advance(60_000);
    pace.appended();
    pace.committed(0);
    expect(pace.share).toBe(1);
  });
});

describe('a thread and its core', () => {
  it('tells of no more wait than there was time', () => {
    const began = systemClock.monotonic();
    const waitedMs = watchCore();
    while (systemClock.monotonic() - began < 30);
    const waited = waitedMs();
    expect(waited).toBeGreaterThanOrEqual(0);
    expect(waited).toBeLessThanOrEqual(systemClock.monotonic() - began + 1);
  });
});
