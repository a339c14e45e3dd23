import { defineError, type ErrorFactory } from '#base';

/** The graph answered, and refused one record for a reason that no plug has classified (ING-536). */
export const applyFailed: ErrorFactory<{ key: string; reason: string }> = defineError(
  'APPLY_FAILED',
  'poison',
  ({ key, reason }) =>
    `the graph refused a record of ${key} (${reason}): correct the record, or report it as a bug, and requeue it afterwards`,
);

/** Anything unforeseen while a key was drained; nothing is lost by trying again. */
export const drainFailed: ErrorFactory<{ key: string; reason: string }> = defineError(
  'DRAIN_FAILED',
  'retry',
  ({ key, reason }) =>
    `draining ${key} failed (${reason}): it is tried again from the committed position; report it as a bug if it stays`,
);

/** `graph adopt` cannot do what it was asked to (ING-542). */
export const adoptRefused: ErrorFactory<{ reason: string }> = defineError(
  'ADOPT_REFUSED',
  'reject',
  ({ reason }) => `nothing was adopted: ${reason}`,
);
