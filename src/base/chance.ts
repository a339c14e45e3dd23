import { randomBytes, randomUUID } from 'node:crypto';

/** Randomness is passed in (D18), so that a failing run can be repeated from its seed. */
export interface Chance {
  uuid(): string;
  bytes(count: number): Uint8Array;
  /** A number in [0, 1). */
  float(): number;
}

export const systemChance: Chance = {
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
  float: () => Math.random(),
};
