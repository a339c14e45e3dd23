import { AssertionFailed, isMillraceError, unreachable, type Disposition } from '#base';

/** Exit codes shared by all verbs (D20, ING-922). */
export const exitCodes = {
  done: 0,
  refused: 1,
  usage: 2,
  unreachable: 69,
  bug: 70,
  cannotWrite: 73,
  corrupt: 74,
  later: 75,
  permission: 77,
  configuration: 78,
} as const;

const permissionCodes: ReadonlySet<string> = new Set([
  'ROOT_PERMISSIONS',
  'UNAUTHENTICATED',
  'FORBIDDEN',
]);

/** The CLI's one switch on the disposition (D15). */
export function exitCodeOf(disposition: Disposition, code: string): number {
  if (permissionCodes.has(code)) return exitCodes.permission;
  if (code === 'DAEMON_UNREACHABLE' || code === 'ROOT_OTHER') return exitCodes.unreachable;
  if (code === 'USAGE') return exitCodes.usage;
  if (code === 'OUTPUT_FAILED' || code === 'DISK_UNAVAILABLE') return exitCodes.cannotWrite;
  switch (disposition) {
    case 'reject':
    case 'poison':
      return exitCodes.refused;
    case 'retry':
    case 'fenced':
      return exitCodes.later;
    case 'corrupt':
      return exitCodes.corrupt;
    case 'fatal':
      return exitCodes.configuration;
    default:
      return unreachable(disposition);
  }
}

/** What anything that was thrown means for the shell. */
export function exitCodeOfError(error: unknown): number {
  if (error instanceof AssertionFailed || !isMillraceError(error)) return exitCodes.bug;
  return exitCodeOf(error.disposition, error.code);
}
