import type { AppendKey, EpochOpening } from '../journal/payloads.ts';
import type { KeyState } from '../session/key-state.ts';

/** What an APPEND frame says of one of its keys. */
export function keyOf(
  state: KeyState,
  duplicates: number,
  { isOpening, isClaiming }: { readonly isOpening: boolean; readonly isClaiming: boolean },
): AppendKey {
  return {
    k: state.key,
    e: state.epoch,
    o: state.ordinal,
    open: isOpening ? openingOf(state) : undefined,
    own: isClaiming && state.owner !== null ? state.owner : undefined,
    dup: duplicates === 0 ? undefined : duplicates,
  };
}

function openingOf(state: KeyState): EpochOpening {
  return {
    workspace: state.workspace,
    session: state.session,
    owner: state.owner,
    cursor: state.baseCursor,
    totals: state.baseTotals,
    applied: state.applied,
    isNew: state.ordinal === 0,
  };
}
