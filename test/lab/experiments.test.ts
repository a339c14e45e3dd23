import { describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import { rateRace, races, ratesText, tryFaults, trySweep } from '#lab';
import { storeTroubles } from '../../src/lab/drain-faults.ts';
import { shorten } from '../../src/lab/shorten.ts';
import { seededChance } from '../../src/lab/seeded-chance.ts';

const order = { seed: 1, clock: systemClock, progress: () => undefined };
/** Every nth call of the disk; all of them in the long run. */
const stride = Number(process.env['FAULT_STRIDE'] ?? 40);
const lives = Number(process.env['SWEEP_LIVES'] ?? 1);

describe('a call that fails', () => {
  it(
    `loses nothing and doubles nothing at every ${stride}th call of the disk and at every call of the stores, once and for a while (P1, P3, P4, P5, QFS-31)`,
    { timeout: 600_000 + (40 / stride) * 60_000 },
    async () => {
      const { failures, counts } = await tryFaults({ ...order, stride });
      expect(failures).toEqual([]);
      expect(counts['diskFaults']).toBeGreaterThan(20);
      expect(counts['storeFaults']).toBeGreaterThan(storeTroubles.length * 5);
    },
  );
});

describe('a power loss at every step', () => {
  it(
    `leaves what was acknowledged, over ${lives} lives by chance (P1, P2, P3, P4)`,
    { timeout: 600_000 + lives * 120_000 },
    async () => {
      const { failures, counts } = await trySweep({
        ...order,
        seed: 2,
        lives,
        acts: 12,
        torn: 1,
        recoveryShare: 0.001,
        isScripted: false,
      });
      expect(failures).toEqual([]);
      expect(counts['reopened']).toBeGreaterThan(100);
    },
  );
});

describe('a race', () => {
  it.each(races)(
    '$guard: $name does damage without its guard alone (ING-T00, ING-B04)',
    async (race) => {
      const rates = await rateRace(race, 40, 1);
      expect(rates.real).toBe(0);
      expect(rates.broken).toBeGreaterThan(0);
    },
  );

  it('is told in percent', () => {
    const race = races[0];
    if (race === undefined) throw new Error('there are races');
    expect(ratesText({ race, broken: 0.833, real: 0 })).toBe('83 % → 0 %');
    expect(ratesText({ race, broken: 1, real: 0.001 })).toBe('100 % → <1 %');
  });
});

describe('a shortened run', () => {
  it('keeps what is needed to fail and nothing else', async () => {
    const chance = seededChance(3);
    const items = Array.from({ length: 60 }, () => Math.floor(chance.float() * 1000));
    const [a = 0, b = 0] = [items[7], items[41]];
    const fails = async (some: readonly number[]): Promise<boolean> =>
      some.includes(a) && some.includes(b);
    expect(await shorten(items, fails)).toEqual([a, b]);
  });
});
