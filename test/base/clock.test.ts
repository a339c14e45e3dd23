import { describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import { seededChance } from '../support/chance.ts';
import { fakeClock } from '../support/clock.ts';

describe('fakeClock', () => {
  it('runs timers and sleeps in order of their due time, each at its own time', async () => {
    const clock = fakeClock(1000);
    const seen: string[] = [];
    const note = (name: string): void => void seen.push(`${name}@${clock.now()}`);
    clock.after(30, () => note('c'));
    const slept = clock.sleep(10).then(() => note('a'));
    clock.after(10, () => note('b'));
    const cancelled = clock.after(20, () => note('never'));
    cancelled.cancel();
    await clock.advance(29);
    expect(seen).toEqual(['a@1010', 'b@1010']);
    await clock.advance(1);
    await slept;
    expect(seen).toEqual(['a@1010', 'b@1010', 'c@1030']);
    expect(clock.waitingCount()).toBe(0);
  });

  it('runs timers that a timer sets within the same advance', async () => {
    const clock = fakeClock();
    let ticks = 0;
    const tick = (): void => {
      ticks += 1;
      clock.after(10, tick);
    };
    clock.after(10, tick);
    await clock.advance(55);
    expect(ticks).toBe(5);
  });

  it('moves the wall clock without touching durations', () => {
    const clock = fakeClock(1000);
    clock.setWallClock(5);
    expect([clock.now(), clock.monotonic()]).toEqual([5, 0]);
  });

  it.each([
    ['fake', fakeClock()],
    ['system', systemClock],
  ])('rejects a sleep of the %s clock with the reason of the abort', async (_name, clock) => {
    const controller = new AbortController();
    const reason = new Error('stopping');
    const slept = clock.sleep(60_000, controller.signal);
    controller.abort(reason);
    await expect(slept).rejects.toBe(reason);
    await expect(clock.sleep(1, controller.signal)).rejects.toBe(reason);
  });
});

describe('seededChance', () => {
  it('repeats from its seed, differs between seeds, and makes well-formed ids', () => {
    expect(seededChance(3).uuid()).toBe(seededChance(3).uuid());
    expect(seededChance(3).uuid()).not.toBe(seededChance(4).uuid());
    expect(seededChance(0).uuid()).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    const chance = seededChance(5);
    const mean = Array.from({ length: 2000 }, () => chance.float()).reduce((a, b) => a + b) / 2000;
    expect(mean).toBeGreaterThan(0.45);
    expect(mean).toBeLessThan(0.55);
  });
});
