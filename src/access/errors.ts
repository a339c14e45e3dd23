import { defineError, type ErrorFactory } from '#base';

export const unauthenticated: ErrorFactory<{ reason: string }> = defineError(
  'UNAUTHENTICATED',
  'reject',
  ({ reason }) =>
    `${reason}: send "Authorization: Bearer TOKEN" with a token of "millrace tokens add"`,
);

export const forbidden: ErrorFactory<{ reason: string }> = defineError(
  'FORBIDDEN',
  'reject',
  ({ reason }) => reason,
);

export const tokenInvalid: ErrorFactory<{ reason: string }> = defineError(
  'TOKEN_INVALID',
  'reject',
  ({ reason }) => `the token cannot be made: ${reason}`,
);

export const tokenExists: ErrorFactory<{ name: string }> = defineError(
  'TOKEN_EXISTS',
  'reject',
  ({ name }) => `there is a token "${name}" already: choose another name, or revoke it first`,
);

/** The start is refused; a running daemon keeps the tokens that it has in memory. */
export const tokensFileCorrupt: ErrorFactory<{ path: string; reason: string }> = defineError(
  'TOKENS_FILE_CORRUPT',
  'fatal',
  ({ path, reason }) =>
    `the tokens file ${path} cannot be used (${reason}): restore it from a backup, or move it aside and make new tokens`,
);

export const tokensFileFailed: ErrorFactory<{ path: string; reason: string }> = defineError(
  'TOKENS_FILE_FAILED',
  'retry',
  ({ path, reason }) =>
    `the tokens file ${path} could not be read or replaced (${reason}): nothing has changed; free the disk or correct its permissions, then try again`,
);

/** ING-016; the daemon does not start. */
export const authRequired: ErrorFactory<{ reason: string }> = defineError(
  'AUTH_REQUIRED',
  'fatal',
  ({ reason }) => reason,
);

/** A caller that names the root it means has reached the daemon of another one (B160). */
export const rootOther: ErrorFactory<{ who: string; root: string }> = defineError(
  'ROOT_OTHER',
  'reject',
  ({ who, root }) =>
    `${who} does not serve ${root}, nothing was done: start the daemon of that root (millrace serve --root DIR), or name the root that you mean`,
);
