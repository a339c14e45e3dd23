import type { KeyState } from './key-state.ts';
import type { OffsetRecord } from './offset-record.ts';

/** The state of a key at one instant, as its files will have it. */
export function recordOf(
  state: KeyState,
  frame: OffsetRecord['frame'],
  tenure: number,
): OffsetRecord {
  return {
    v: 2,
    min_reader: 2,
    workspace: state.workspace,
    session_id: state.session,
    owner: state.owner,
    epoch: state.epoch,
    ordinal: state.ordinal,
    gen: state.gen,
    base: state.base,
    offset: state.committed,
    log_end: state.end,
    log_records: state.endRecords,
    committed_records: state.committedRecords,
    applied: state.applied,
    state: state.isFinalising ? 'finalizing' : 'open',
    totals: { ...state.totals },
    seq: state.seq,
    frame,
    tenure,
    ...(state.lastClear === null ? {} : { last_clear: state.lastClear }),
    cursor: state.cursor,
  };
}
