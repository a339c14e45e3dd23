import { assert } from '#base';
import type { WorkerState } from '../drain.ts';

/**
 * What a worker may become from where it stands; anything else is a bug. `applying` covers the wait for a group and the commit;
 * `backing-off` is left for `arming` when the worker is rebuilt, for `applying` when its group tries again.
 */
const moves: Readonly<Record<WorkerState, readonly WorkerState[]>> = {
  starting: ['arming', 'stopped'],
  arming: ['reading', 'backing-off', 'quarantined', 'mismatched', 'stopped'],
  reading: ['applying', 'idle', 'backing-off', 'quarantined', 'stopped'],
  applying: ['reading', 'backing-off', 'quarantined', 'mismatched', 'stopped'],
  'backing-off': ['arming', 'applying', 'quarantined', 'mismatched', 'stopped'],
  idle: ['arming', 'reading', 'stopped'],
  quarantined: [],
  mismatched: [],
  stopped: [],
};

export function assertMove(key: string, from: WorkerState, to: WorkerState): void {
  assert(moves[from].includes(to), `the worker of ${key} cannot go from ${from} to ${to}`);
}

/** States in which a key is not drained until somebody acts. */
export function isHalted(state: WorkerState): state is 'quarantined' | 'mismatched' {
  return state === 'quarantined' || state === 'mismatched';
}
