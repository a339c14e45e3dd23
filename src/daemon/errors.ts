import { defineError, type ErrorFactory } from '#base';

/** The listener answers while the stores are still being opened; events have to wait for them. */
export const recovering: ErrorFactory<Record<string, never>> = defineError(
  'RECOVERING',
  'retry',
  () => 'the daemon starts and recovers what was stored: send again in a moment',
);
