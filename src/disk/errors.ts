import { defineError, type ErrorFactory } from '#base';

/** ROOT-101. `holder` is for people only, from the marker's `active_process`; it is never asked for authority. */
export const rootLocked: ErrorFactory<{ path: string; holder?: string }> = defineError(
  'ROOT_LOCKED',
  'retry',
  ({ path, holder }) =>
    `${path} is held by ${holder ?? 'another process'}: stop that process, or use another root`,
);

/** ROOT-106: there is no fallback to a lock folder or a lease file. */
export const lockUnavailable: ErrorFactory<{ path: string; reason: string }> = defineError(
  'LOCK_UNAVAILABLE',
  'fatal',
  ({ path, reason }) =>
    `the lock on ${path} cannot be taken (${reason}): keep the root on a local file system that supports locks`,
);

/** ING-021 */
export const failpointsRefused: ErrorFactory<{ reason: string }> = defineError(
  'FAILPOINTS_REFUSED',
  'fatal',
  ({ reason }) =>
    `MILLRACE_FAILPOINTS is refused (${reason}): unset it, or correct it and use a lab root`,
);

/** A call of the platform failed for a reason of the machine: no request and no record is to blame (QFS-31, D13). */
export const diskUnavailable: ErrorFactory<{ doing: string; what: string; cure: string }> =
  defineError(
    'DISK_UNAVAILABLE',
    'retry',
    ({ doing, what, cure }) => `${doing} is not possible now: ${what}; ${cure}, then try again`,
  );
