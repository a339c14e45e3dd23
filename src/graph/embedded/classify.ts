import type { MillraceError } from '#base';
import { graphConflict, graphDamaged, graphDenied, graphUnavailable } from '../errors.ts';

/** SQLite's primary result codes that mean something to a caller; extended ones carry them in their low byte. */
const conflictCodes: ReadonlySet<number> = new Set([5, 6, 15]);
const deniedCodes: ReadonlySet<number> = new Set([3, 8, 23]);
/** Out of memory, I/O error, full, cannot open. */
const unavailableCodes: ReadonlySet<number> = new Set([7, 10, 13, 14]);

/**
 * A foreign error in our words, by its number, never by its text; undefined where it is neither the store's trouble nor known: a defect. A
 * damaged file is to be waited for like one that is away, because no record is to blame.
 */
export function classifySqliteError(error: unknown): MillraceError | undefined {
  const errcode = errcodeOf(error);
  if (errcode === undefined || !(error instanceof Error)) return undefined;
  const primary = errcode & 0xff;
  const reason = `SQLite ${errcode}: ${error.message}`;
  if (conflictCodes.has(primary)) return graphConflict({ reason }, error);
  if (deniedCodes.has(primary)) return graphDenied({ reason }, error);
  if (isDamage(error)) return graphDamaged({ reason }, error);
  return unavailableCodes.has(primary) ? graphUnavailable({ reason }, error) : undefined;
}

/** The file is damaged, or no database at all. */
export function isDamage(error: unknown): boolean {
  const primary = (errcodeOf(error) ?? 0) & 0xff;
  return primary === 11 || primary === 26;
}

function errcodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}
