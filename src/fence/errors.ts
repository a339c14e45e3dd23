import { defineError, type ErrorFactory } from '#base';

/** The domain is held by somebody else; a normal outcome, try again (FEN-107). */
export const fenceBusy: ErrorFactory<{ domain: string; holder: string }> = defineError(
  'FENCE_BUSY',
  'retry',
  ({ domain, holder }) => `${domain} is held by ${holder}: try again once it is released`,
);

/** The guarded thing carries a higher generation, or an equal one of another holder (FEN-401). */
export const fenceStale: ErrorFactory<{
  domain: string;
  thing: string;
  generation: number;
  mark: number;
}> = defineError(
  'FENCE_STALE',
  'fenced',
  ({ domain, thing, generation, mark }) =>
    `${thing} is guarded by generation ${mark} of ${domain}, ours is ${generation}: another daemon has taken over, this one stops writing`,
);

/** The permit was given up, or its exclusion was found lost; nothing was written (FEN-307). */
export const fenceLost: ErrorFactory<{ domain: string; generation: number }> = defineError(
  'FENCE_LOST',
  'fenced',
  ({ domain, generation }) =>
    `the permit of generation ${generation} for ${domain} is no longer valid: nothing was written`,
);

/** The daemon is no longer the writer of its root (ING-236, ING-310). */
export const tenureLost: ErrorFactory<{ domain: string; generation: number; reason: string }> =
  defineError(
    'TENURE_LOST',
    'fenced',
    ({ domain, generation, reason }) =>
      `tenure ${generation} of ${domain} is lost (${reason}): the daemon stops without committing`,
  );
