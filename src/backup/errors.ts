import { defineError, type ErrorFactory } from '#base';

/** Where a backup may be written or read (ROOT-16). */
export const backupPathRefused: ErrorFactory<{ path: string; reason: string }> = defineError(
  'BACKUP_PATH_REFUSED',
  'reject',
  ({ path, reason }) => `${path} cannot be used for a backup: ${reason}`,
);

/** Not a backup, or half of one: its manifest is missing or cannot be read (FEN-706). */
export const backupUnreadable: ErrorFactory<{ path: string; reason: string }> = defineError(
  'BACKUP_UNREADABLE',
  'reject',
  ({ path, reason }) => `${path} is no whole backup (${reason}): take another one`,
);

/** A file is not what the manifest says. */
export const backupDamaged: ErrorFactory<{ path: string; file: string; reason: string }> =
  defineError(
    'BACKUP_DAMAGED',
    'corrupt',
    ({ path, file, reason }) =>
      `the backup ${path} is damaged: ${file} ${reason}; take another backup, nothing was restored from this one`,
  );

/** The disk of the backup, or a store that should copy itself. */
export const backupFailed: ErrorFactory<{ path: string; reason: string }> = defineError(
  'BACKUP_FAILED',
  'retry',
  ({ path, reason }) =>
    `${path} could not be finished (${reason}): half of it counts for nothing, try again`,
);

export const backupRunning: ErrorFactory<Record<string, never>> = defineError(
  'BACKUP_RUNNING',
  'retry',
  () => 'a backup is being made already: wait until it has ended',
);

/** What came out of a drill is not what went into the backup (FEN-709). */
export const drillFailed: ErrorFactory<{ path: string; reason: string }> = defineError(
  'DRILL_FAILED',
  'corrupt',
  ({ path, reason }) => `the backup ${path} did not pass its drill: ${reason}`,
);
