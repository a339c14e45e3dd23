import { defineError, messageOf, type ErrorFactory, type MillraceError } from '#base';

/** The control database cannot be used now: locked by another process, disk full, I/O error. */
export const controlUnavailable: ErrorFactory<{ path: string; reason: string }> = defineError(
  'CONTROL_UNAVAILABLE',
  'retry',
  ({ path, reason }) =>
    `the control database ${path} cannot be used now (${reason}): free the disk or end what holds it, then try again`,
);

/** The file is no SQLite database, or its pages are damaged. */
export const controlCorrupt: ErrorFactory<{ path: string; reason: string }> = defineError(
  'CONTROL_CORRUPT',
  'corrupt',
  ({ path, reason }) =>
    `the control database ${path} is damaged (${reason}): move it aside to keep it as evidence and restore it from a backup`,
);

/** SQLite's result codes for a damaged page and for a file that is no database. */
const damagedCodes: ReadonlySet<number> = new Set([11, 26]);

/** Classifies what node:sqlite threw, once, at the edge (ING-024). Programmer mistakes pass through unchanged. */
export function classifyControlError(path: string, error: unknown): unknown {
  const errcode = (error as { readonly errcode?: unknown }).errcode;
  if (typeof errcode !== 'number') return error;
  const details = { path, reason: messageOf(error) };
  const classified: MillraceError = damagedCodes.has(errcode & 0xff)
    ? controlCorrupt(details, error)
    : controlUnavailable(details, error);
  return classified;
}
