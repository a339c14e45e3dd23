import type { Clock } from '#base';
import { oneIdTwice, requeueAgainstResend } from './races/event-id-race.ts';
import { guardsUnderChurn } from './races/lock-race.ts';
import type { Race, Variant } from './races/race.ts';
import { commitAgainstReconcile } from './races/record-race.ts';
import { fourWritersOfOneFile } from './races/staging-race.ts';
import type { LabFailure, LabReport, Progress } from './report.ts';
import { seededChance } from './seeded-chance.ts';

/** A guarded act that is new gets its race here; bench, verb and tests take them all. */
export const races: readonly Race[] = [
  commitAgainstReconcile,
  fourWritersOfOneFile,
  guardsUnderChurn,
  oneIdTwice,
  requeueAgainstResend,
];

export interface RaceOrder {
  readonly rounds: number;
  readonly seed: number;
  readonly clock: Clock;
  readonly progress: Progress;
}

export interface RaceRates {
  readonly race: Race;
  /** Share of damaged rounds, 0 to 1. */
  readonly broken: number;
  readonly real: number;
}

export async function rateRace(race: Race, rounds: number, seed: number): Promise<RaceRates> {
  const rate = async (variant: Variant): Promise<number> => {
    const chance = seededChance(seed);
    let damaged = 0;
    for (let round = 0; round < rounds; round += 1)
      if (await race.isDamaged(variant, chance)) damaged += 1;
    return damaged / rounds;
  };
  return { race, broken: await rate('broken'), real: await rate('real') };
}

/** As "83 % → 0 %". */
export function ratesText({ broken, real }: RaceRates): string {
  const percent = (rate: number): string =>
    rate > 0 && rate < 0.01 ? '<1 %' : `${Math.round(rate * 100)} %`;
  return `${percent(broken)} → ${percent(real)}`;
}

/** `millrace lab race`: how often each race does damage without its guard, and with it: with it, never (ING-B04). */
export async function tryRaces({ rounds, seed, clock, progress }: RaceOrder): Promise<LabReport> {
  const began = clock.monotonic();
  const counts: Record<string, string | number> = { rounds };
  const failures: LabFailure[] = [];
  for (const race of races) {
    const rates = await rateRace(race, rounds, seed);
    const name = `${race.guard} ${race.name}`;
    counts[name] = ratesText(rates);
    progress(`${name}: ${ratesText(rates)} (without: ${race.defect})`);
    if (rates.real > 0 || rates.broken === 0)
      failures.push({
        seed,
        message:
          rates.real > 0
            ? `${name}: the real code did damage in ${rates.real * 100} % of the rounds`
            : `${name}: the broken variant did no damage, so this race shows nothing`,
        replay: `millrace lab race --rounds ${rounds} --seed ${seed}`,
      });
  }
  return { experiment: 'race', seed, counts, failures, durationMs: clock.monotonic() - began };
}
