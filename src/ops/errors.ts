import { defineError, type ErrorFactory } from '#base';

export const sessionUnknown: ErrorFactory<{ session: string }> = defineError(
  'SESSION_UNKNOWN',
  'reject',
  ({ session }) => `no session is called ${session}; "millrace sessions list" shows them all`,
);

export const sessionAmbiguous: ErrorFactory<{ session: string; workspaces: readonly string[] }> =
  defineError(
    'SESSION_AMBIGUOUS',
    'reject',
    ({ session, workspaces }) =>
      `session ${session} exists in ${workspaces.join(', ')}: name the workspace`,
  );

export const tokenUnknown: ErrorFactory<{ name: string }> = defineError(
  'TOKEN_UNKNOWN',
  'reject',
  ({ name }) => `there is no token called ${name}; "millrace tokens list" shows them all`,
);

export const waitTimedOut: ErrorFactory<{ until: string; timeoutMs: number; pending: number }> =
  defineError(
    'WAIT_TIMED_OUT',
    'retry',
    ({ until, timeoutMs, pending }) =>
      `not ${until} within ${timeoutMs} ms, ${pending} records are pending: wait again, or look at "millrace status"`,
  );
