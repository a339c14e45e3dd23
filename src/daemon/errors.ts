import { defineError, type ErrorFactory } from '#base';

/** The listener answers while the stores are still being opened; events have to wait for them. */
export const recovering: ErrorFactory<Record<string, never>> = defineError(
  'RECOVERING',
  'retry',
  () => 'the daemon starts and recovers what was stored: send again in a moment',
);

/** ING-921: the root itself cannot be read, so nothing can be said of its keys. */
export const verifyImpossible: ErrorFactory<{ root: string; reason: string }> = defineError(
  'VERIFY_IMPOSSIBLE',
  'corrupt',
  ({ root, reason }) => `${root} cannot be verified: ${reason}`,
);
