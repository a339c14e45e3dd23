import type { Chance } from '#base';

export type Variant = 'broken' | 'real';

/** Things that may collide, run side by side: on a variant that lacks the guard, and on the real code. */
export interface Race {
  /** The guard test that it belongs to, such as G1. */
  readonly guard: string;
  /** What runs against what. */
  readonly name: string;
  /** What the broken variant lacks. */
  readonly defect: string;
  /** One round; true when something was lost, doubled or torn. */
  isDamaged(variant: Variant, chance: Chance): Promise<boolean>;
}

/** A few turns by chance, so that rounds meet in different orders. */
export async function scatter(chance: Chance, turnsMax = 12): Promise<void> {
  for (let turns = Math.floor(chance.float() * turnsMax); turns > 0; turns -= 1)
    await Promise.resolve();
}
