import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Chance, Clock } from '#base';
import { harmed, planDamage, type Damage } from './damage/harm.ts';
import { meet, put, type Met } from './damage/meet.ts';
import { copyRoot, makeVictim, olderCopy, targetsIn, type Victim } from './damage/victim.ts';
import type { LabFailure, LabReport, Progress } from './report.ts';
import { seededChance } from './seeded-chance.ts';
import { withThrowaway } from './throwaway.ts';

export interface DamageOrder {
  readonly rounds: number;
  readonly seed: number;
  readonly clock: Clock;
  readonly progress: Progress;
}

/** What became of one damaged root. */
export interface DamageOutcome {
  readonly damage: Damage;
  readonly met: Met;
}

/** `millrace lab damage`: one file of a root is damaged at random, a daemon is started, and what it says and does is judged (P1 to P7). */
export async function tryDamage(order: DamageOrder): Promise<LabReport> {
  const { rounds, seed, clock, progress } = order;
  const began = clock.monotonic();
  const counts: Record<string, number> = { roots: 0 };
  const failures: LabFailure[] = [];
  await withThrowaway(async (place) => {
    progress('a root with everything in it');
    const victim = await makeVictim(place);
    for (let own = seed; own < seed + rounds; own += 1) {
      const { damage, met } = await damageOnce(victim, join(place, 'copy'), own, clock);
      const { fate, faults } = met;
      counts['roots'] = own - seed + 1;
      counts[fate] = (counts[fate] ?? 0) + 1;
      const where = `${damage.harm} of ${damage.path}`;
      progress(`${counts['roots']} of ${rounds} damaged roots; ${where}: ${fate}`);
      const replay = `millrace lab damage --rounds 1 --seed ${own}`;
      failures.push(
        ...faults.map((fault) => ({ seed: own, message: `${where}: ${fault}`, replay })),
      );
    }
  });
  return { experiment: 'damage', seed, counts, failures, durationMs: clock.monotonic() - began };
}

/** Narrows what is damaged; everything where it is not given. */
export type Aim = (damage: Damage) => boolean;

const aimsMax = 10_000;

/** One copy of the victim, one damage, one verdict. */
export async function damageOnce(
  victim: Victim,
  root: string,
  seed: number,
  clock: Clock,
  aim: Aim = () => true,
): Promise<DamageOutcome> {
  const chance = seededChance(seed);
  const from = chance.float() < 0.5 ? victim.killed : victim.stopped;
  const older = from === victim.stopped ? [...victim.older, victim.killed] : victim.older;
  await rm(root, { recursive: true, force: true });
  await copyRoot(from, root);
  const damage = choose(chance, await targetsIn(root, older), aim);
  const path = join(root, damage.path);
  const bytes = await readFile(path);
  const copy = await olderCopy(damage.path, bytes, older);
  await put(path, harmed(chance, damage.harm, bytes, copy));
  return { damage, met: await meet({ victim, root, from, damage, clock }) };
}

function choose(chance: Chance, targets: Parameters<typeof planDamage>[1], aim: Aim): Damage {
  for (let tries = 0; tries < aimsMax; tries += 1) {
    const damage = planDamage(chance, targets);
    if (damage !== undefined && aim(damage)) return damage;
  }
  throw new RangeError('nothing of the root is aimed at');
}
