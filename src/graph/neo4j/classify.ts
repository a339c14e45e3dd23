import type { MillraceError } from '#base';
import { graphConflict, graphDenied, graphUnavailable } from '../errors.ts';

/**
 * A foreign error in our words, by its code, never by its text (ING-853). Undefined: a defect of ours, or a record that the server does not take;
 * the drain tells one from the other by a probe (ING-536).
 */
export function classifyNeo4jError(error: unknown, away: string): MillraceError | undefined {
  const code = codeOf(error);
  if (code === undefined || !(error instanceof Error)) return undefined;
  const reason = `${code}: ${firstLine(error.message)}`;
  if (isConflict(code)) return graphConflict({ reason }, error);
  if (isDenied(code)) return graphDenied({ reason }, error);
  return isAway(code) ? graphUnavailable({ reason: `${away}: ${reason}` }, error) : undefined;
}

/** True where the server, or the way to it, is gone; false where it answered that it cannot. */
export function isUnreachable(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && unreachable.has(code);
}

const unreachable: ReadonlySet<string> = new Set(['ServiceUnavailable', 'SessionExpired', 'N/A']);

const conflicts: ReadonlySet<string> = new Set([
  'Neo.ClientError.Schema.ConstraintValidationFailed',
  'Neo.ClientError.Statement.EntityNotFound',
]);

/** Two writers met: one of them goes first, and the other finds what it left. */
function isConflict(code: string): boolean {
  return conflicts.has(code) || code.startsWith('Neo.TransientError.Transaction.');
}

const passing: ReadonlySet<string> = new Set([
  'Neo.ClientError.Security.AuthorizationExpired',
  'Neo.ClientError.Security.TokenExpired',
  'Neo.ClientError.Security.AuthenticationRateLimit',
]);

const forbidden: ReadonlySet<string> = new Set([
  'Neo.ClientError.General.ForbiddenOnReadOnlyDatabase',
  'Neo.ClientError.General.WriteOnReadOnlyAccessDatabase',
  'Neo.ClientError.Statement.AccessMode',
]);

function isDenied(code: string): boolean {
  return (
    forbidden.has(code) || (code.startsWith('Neo.ClientError.Security.') && !passing.has(code))
  );
}

const troubles: readonly string[] = [
  'Neo.TransientError.',
  'Neo.DatabaseError.',
  'Neo.ClientError.Cluster.',
  'Neo.ClientError.Database.',
  'Neo.ClientError.Transaction.',
];

function isAway(code: string): boolean {
  return (
    unreachable.has(code) || passing.has(code) || troubles.some((start) => code.startsWith(start))
  );
}

/** The server ended a transaction because of the limit that it was given. */
export function isTimedOut(error: unknown): boolean {
  const code = codeOf(error) ?? (error instanceof Error ? codeOf(error.cause) : undefined);
  return code?.includes('TransactionTimedOut') === true;
}

export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'Neo4jError' || !('code' in error))
    return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Of a failed connection the platform's word alone: the driver adds advice of a paragraph. */
function firstLine(text: string): string {
  const [line = text] = text.split('\n', 1);
  return line.split('Caused by: ').at(-1) ?? line;
}
