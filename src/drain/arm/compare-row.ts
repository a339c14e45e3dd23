import type { AppliedRow } from '#graph';
import type { AppliedMark } from '#queue';
import type { Position } from '#record';

/** What the log says about a key when its worker arms. */
export interface LogSide {
  readonly rootId: string;
  /** Last record that a commit relied on; null when none did. */
  readonly mark: AppliedMark | null;
  readonly end: Position;
}

export type RowVerdict =
  | { readonly kind: 'match'; readonly appliedThrough: Position | null }
  /** The record at the row's position must be read and have this digest. */
  | { readonly kind: 'prove'; readonly at: Position; readonly sha256: string }
  | { readonly kind: 'mismatch'; readonly reason: string };

/** A verdict that needs no further look. */
export type ProvenVerdict = Exclude<RowVerdict, { readonly kind: 'prove' }>;

/** Compares records, not ranges: a row is believed only for a record that the log knows by its digest (ING-541). */
export function compareRow(row: AppliedRow | null, log: LogSide): RowVerdict {
  const { mark, rootId, end } = log;
  if (row === null)
    return mark === null
      ? { kind: 'match', appliedThrough: null }
      : mismatch(`the graph has no row for it, though records up to ${mark.position} were applied`);
  if (row.rootId !== rootId)
    return mismatch(`the graph's row belongs to the root ${row.rootId}, ours is ${rootId}`);
  if (mark !== null && row.position < mark.position)
    return mismatch(
      `the graph holds it up to ${row.position} only, a commit relied on ${mark.position}`,
    );
  if (row.position > end)
    return mismatch(`the graph holds it up to ${row.position}, its log ends at ${end}`);
  if (mark === null || row.position !== mark.position)
    return { kind: 'prove', at: row.position, sha256: row.sha256 };
  return row.sha256 === mark.sha256
    ? { kind: 'match', appliedThrough: row.position }
    : mismatch(`the record that the graph applied at ${row.position} is another one`);
}

/** The end of a `prove`: the digest of the record that the log has there, undefined when it has none. */
export function proveRow(
  verdict: Extract<RowVerdict, { kind: 'prove' }>,
  sha256InLog: string | undefined,
): ProvenVerdict {
  if (sha256InLog === verdict.sha256) return { kind: 'match', appliedThrough: verdict.at };
  return mismatch(
    sha256InLog === undefined
      ? `its log has no record that ends at ${verdict.at}, where the graph stands`
      : `the record that the graph applied at ${verdict.at} is another one than the log has there`,
  );
}

function mismatch(reason: string): Extract<RowVerdict, { kind: 'mismatch' }> {
  return { kind: 'mismatch', reason };
}
