import { defineError, type ErrorFactory } from '#base';

/** The store carries the mark of another domain: it belongs to another root (FEN-402). */
export const stateMismatch: ErrorFactory<{ place: string; found: string; expected: string }> =
  defineError(
    'STATE_MISMATCH',
    'fatal',
    ({ place, found, expected }) =>
      `the state in ${place} belongs to ${found}, not to ${expected}: give this root its own state folder back`,
  );

/** A stored value of one key cannot be read. */
export const stateCorrupt: ErrorFactory<{ thing: string; reason: string }> = defineError(
  'STATE_CORRUPT',
  'corrupt',
  ({ thing, reason }) =>
    `${thing} in the state store is damaged (${reason}): start the daemon again, which keeps the store, and makes a new one of what is sound and of the logs`,
);

/** LMDB's codes for a damaged page, a file that is none of its own, and what follows from them. */
const damagedCodes: ReadonlySet<unknown> = new Set([-30797, -30796, -30795, -30794, -30793]);

export function isDamagedStore(error: unknown): boolean {
  return error instanceof Error && 'code' in error && damagedCodes.has(error.code);
}

/** Whoever ended the look at a store, nothing is known of it: it is neither opened nor set aside. */
export const stateLookEnded: ErrorFactory<{ place: string; signal: string }> = defineError(
  'STATE_LOOK_ENDED',
  'retry',
  ({ place, signal }) =>
    `the process that looks at the state in ${place} before it is opened was ended by ${signal}: the store is left as it is, start the daemon again`,
);

/** The store cannot be written now: a full disk, a failing device. What was written before stays. */
export const stateUnavailable: ErrorFactory<{ place: string; reason: string }> = defineError(
  'STATE_UNAVAILABLE',
  'retry',
  ({ place, reason }) =>
    `the state in ${place} cannot be written now (${reason}): see to its disk, the write is tried again`,
);
