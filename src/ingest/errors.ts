import { defineError, type ErrorDetails, type ErrorFactory } from '#base';
import type { Reject } from './ingest.ts';

/**
 * Codes of single records (ING spec §9). A record's reject carries the code and its own words, so these are seldom made into errors: a request
 * of ten thousand broken lines costs no stack traces.
 */
type Reason = { readonly reason: string };

export const recordNotJson: ErrorFactory<Reason> = byReason('RECORD_NOT_JSON');
export const eventInvalid: ErrorFactory<Reason> = byReason('EVENT_INVALID');
export const sessionIdInvalid: ErrorFactory<Reason> = byReason('SESSION_ID_INVALID');
export const recordTooLarge: ErrorFactory<Reason> = byReason('RECORD_TOO_LARGE');
export const eventIdConflict: ErrorFactory<Reason> = byReason('EVENT_ID_CONFLICT');
export const sessionOwnerMismatch: ErrorFactory<Reason> = byReason('SESSION_OWNER_MISMATCH');

export const batchTooLarge: ErrorFactory<Reason> = byReason('BATCH_TOO_LARGE');

/** `?atomic=true` and at least one record was refused; nothing was stored (D19). */
export const batchRefused: ErrorFactory<{ readonly errors: readonly Reject[] } & ErrorDetails> =
  defineError(
    'BATCH_REFUSED',
    'reject',
    ({ errors }) =>
      `${errors.length} of the records ${errors.length === 1 ? 'was' : 'were'} refused, so nothing of the atomic request was stored; the first: ${errors[0]?.message}`,
  );

function byReason(code: string): ErrorFactory<Reason> {
  return defineError(code, 'reject', ({ reason }) => reason);
}
