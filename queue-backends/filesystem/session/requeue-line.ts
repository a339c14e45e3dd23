import { assert } from '#base';
import { type KeyState, positionOf } from './key-state.ts';
import type { AppendRecord, OutcomeLine } from '../journal/payloads.ts';

/** The outcome that a record settles its letter with: the running program and recovery make the same line of one frame. */
export function requeueLine(
  state: KeyState,
  record: AppendRecord,
  acceptedMs: number,
): OutcomeLine {
  const { set } = record;
  assert(set !== undefined, 'the record settles a letter');
  return {
    v: 1,
    kind: 'requeued',
    id: set.id,
    ts: new Date(acceptedMs).toISOString(),
    requeue_pos: positionOf(state, record.at),
    requeue_len: record.len,
    pos_start: set.at,
    ...(set.o === undefined ? {} : { ordinal: set.o }),
    ...(set.eid === undefined ? {} : { event_id: set.eid }),
  };
}
