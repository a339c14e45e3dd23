import { defineError, type ErrorFactory } from '#base';

/** What the laboratory looks for: a promise that did not hold. */
export const promiseBroken: ErrorFactory<{ promise: string; found: string }> = defineError(
  'PROMISE_BROKEN',
  'corrupt',
  ({ promise, found }) =>
    `a promise did not hold: ${promise} (${found}); keep the seed, and report it as a bug`,
);

export const labUnready: ErrorFactory<{ reason: string }> = defineError(
  'LAB_UNREADY',
  'reject',
  ({ reason }) => `the laboratory cannot do this (${reason}); see "millrace lab --help"`,
);
