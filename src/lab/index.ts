/**
 * lab: where promises are tried under trouble.
 *
 * Lives here: histories over recording and failing disks, the model of a queue, races against broken variants, kills of real daemons; seeded chance and
 * a simulated clock. Everything runs on throwaway roots of its own, from a seed, and can be run again from it.
 * Not here: any promise; the laboratory only looks whether the rooms below hold theirs.
 * Promises: P1 to P6, P10 and P12 are tried here, by tests and by `millrace lab`.
 * May call: every room below, and the plugs. Called by: cli, tests.
 */
export * from './errors.ts';
export type { LabFailure, LabReport, Progress } from './report.ts';
export { tryModel, type ModelOrder } from './try-model.ts';
export { tryDamage, type DamageOrder } from './try-damage.ts';
export { tryFaults, type FaultOrder } from './try-faults.ts';
export { tryKills, type KillsOrder } from './try-kills.ts';
export {
  rateRace,
  ratesText,
  races,
  tryRaces,
  type RaceOrder,
  type RaceRates,
} from './try-races.ts';
export { trySweep, type SweepOrder } from './try-sweep.ts';
