import { describe, expect, it } from 'vitest';
import { backoffMs } from '#base';
import { seededChance } from '../support/chance.ts';

const never = { ...seededChance(1), float: () => 0 };
const most = { ...seededChance(1), float: () => 0.999_999 };

describe('backoffMs', () => {
  it('doubles from the base to the cap and stays there', () => {
    const waits = [1, 2, 3, 4, 9, 10, 1000].map((attempt) =>
      backoffMs({ baseMs: 100, maxMs: 30_000 }, attempt, never),
    );
    expect(waits).toEqual([100, 200, 400, 800, 25_600, 30_000, 30_000]);
  });

  it('takes at most the jitter off and never adds', () => {
    expect(backoffMs({ baseMs: 100, maxMs: 1000, jitter: 0.2 }, 1, most)).toBe(80);
    expect(backoffMs({ baseMs: 100, maxMs: 1000 }, 20, most)).toBe(500);
    expect(backoffMs({ baseMs: 100, maxMs: 1000, jitter: 0 }, 20, most)).toBe(1000);
  });

  it('repeats a run from its seed', () => {
    const run = (): number[] => {
      const chance = seededChance(7);
      return [1, 2, 3].map((attempt) => backoffMs({ baseMs: 100, maxMs: 900 }, attempt, chance));
    };
    expect(run()).toEqual(run());
  });
});
