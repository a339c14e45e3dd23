import type { AppliedRow } from '#graph';
import type { BondedKey } from '#queue';
import type { Key } from '#record';
import type { ProvenVerdict } from './compare-row.ts';

/** What was wrong with a key's row, and so what the graph lacks or has too much of. */
export type AdoptCause =
  /** The graph has no row, though records were applied: it was emptied, or is another one. */
  | 'missing'
  /** The row stands before what was committed: an older graph. */
  | 'behind'
  /** The row stands beyond what was committed, or names another record: an older root. */
  | 'ahead'
  /** The row is that of another root. */
  | 'foreign'
  /** No queue knows the key: the row of a session that this root has never seen. */
  | 'unknown';

/** One row that `graph adopt` sets; null takes it away. */
export interface AdoptChange {
  readonly key: Key;
  readonly cause: AdoptCause;
  /** Why the key could not be drained, in words. */
  readonly reason: string;
  readonly from: AppliedRow | null;
  readonly to: AppliedRow | null;
  /** The ids of its applied records go, so that the same events are taken again. */
  readonly forgets: boolean;
}

/** A row as it is judged: one that came with a restored root counts as if it named that root already. */
export function asOurs(
  row: AppliedRow | null,
  rootId: string,
  restoredFrom: string | undefined,
): AppliedRow | null {
  return row === null || row.rootId !== restoredFrom ? row : { ...row, rootId };
}

/**
 * What becomes of a key's row (ING-542): the root's committed position, where the two do not know each other; a row that is believed keeps its
 * position, for the worker of that key goes on from it, and is given to this root where it came with a restore. `judged` is the row that the
 * verdict is of. Pure.
 */
export function planAdopt(
  row: AppliedRow | null,
  judged: AppliedRow | null,
  bonded: BondedKey,
  verdict: ProvenVerdict,
  rootId: string,
): AdoptChange | undefined {
  const { key, applied } = bonded;
  if (verdict.kind === 'match') {
    if (row === judged) return undefined;
    const reason = 'the row came with a restored root';
    return { key, cause: 'foreign', reason, from: row, to: judged, forgets: false };
  }
  const to = applied === null ? null : { rootId, ...applied };
  const cause = causeOf(judged, to, rootId);
  const forgets = cause === 'missing' && to !== null;
  return { key, cause, reason: verdict.reason, from: row, to, forgets };
}

function causeOf(row: AppliedRow | null, to: AppliedRow | null, rootId: string): AdoptCause {
  if (row === null) return 'missing';
  if (row.rootId !== rootId) return 'foreign';
  return to !== null && row.position < to.position ? 'behind' : 'ahead';
}

/** A row of ours whose key the queue does not know would hide the first records of a session that comes to be. Pure. */
export function planRemoval(
  key: Key,
  row: AppliedRow,
  ownRootIds: readonly string[],
): AdoptChange | undefined {
  if (!ownRootIds.includes(row.rootId)) return undefined;
  const reason = 'the graph has a row for it, the queue does not know it';
  return { key, cause: 'unknown', reason, from: row, to: null, forgets: false };
}
