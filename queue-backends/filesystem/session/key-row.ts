import type { AppliedMark } from '#queue';
import { emptyCursor } from '#record';
import type { KeyRow, StateWrite } from '#state';
import { type KeyState, positionOf } from './key-state.ts';

/** The key's row that outlives its log (D27). */
export function rowOf(state: KeyState): KeyRow {
  return {
    ordinal: state.ordinal,
    epoch: state.epoch,
    position: positionOf(state, state.committed),
    appliedPosition: state.applied?.position ?? null,
    sha256: state.applied?.sha256 ?? null,
    cursor: state.cursor ?? emptyCursor(),
    // An answer that no frame carries yet is in the next one; a row counts once the epoch is over, and that frame is durable.
    totals: {
      ...state.totals,
      duplicates: state.totals.duplicates + state.pendingDuplicates,
    },
    workspace: state.workspace,
    session: state.session,
    owner: state.owner,
  };
}

/** The books and the owner that an epoch goes on from, as its opening takes them from the row (ING-610, ING-805). */
export function takeBooks(state: KeyState, { totals, owner }: KeyRow): void {
  state.owner = owner;
  state.baseTotals = totals;
  Object.assign(state.totals, totals);
}

/** The last record that the graph is known to hold, as the row keeps it. */
export function appliedOf({ appliedPosition, sha256 }: KeyRow): AppliedMark | null {
  return sha256 === null || appliedPosition === null ? null : { position: appliedPosition, sha256 };
}

/** What a checkpoint keeps of a key in the state store. Every id up to `syncedTo` was put into the index before; records without one need no entry. */
export function rowsOf(state: KeyState): readonly StateWrite[] {
  const { key, epoch, syncedTo } = state;
  state.indexedThrough = Math.max(state.indexedThrough, syncedTo);
  const progress = { epoch, indexedThrough: state.indexedThrough };
  return [
    { table: 'progress', key, progress },
    { table: 'row', key, row: rowOf(state) },
  ];
}
