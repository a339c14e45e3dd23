import { defineError, type ErrorFactory } from '#base';

export const vacuumRefused: ErrorFactory<{ component: string; reason: string }> = defineError(
  'VACUUM_REFUSED',
  'reject',
  ({ component, reason }) =>
    `the ${component} gives no space back now: ${reason}; free some, or move the root to a larger disk`,
);
