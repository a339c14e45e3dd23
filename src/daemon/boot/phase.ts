import { assert } from '#base';
import { daemonChanged, type DaemonChanged } from '#signals';

/** Where a daemon stands in its life. */
export type Phase = DaemonChanged['state'];

/** The whole table: from each phase, where it may go. */
const next: Readonly<Record<Phase, readonly Phase[]>> = {
  starting: ['starting', 'recovering', 'draining', 'fenced', 'stopped'],
  recovering: ['ready', 'draining', 'fenced', 'stopped'],
  ready: ['draining', 'fenced'],
  draining: ['stopped', 'fenced'],
  fenced: ['stopped'],
  stopped: [],
};

export interface PhaseHolder {
  readonly phase: Phase;
  /** The one function that changes the phase. */
  enter(phase: Phase, detail: string): void;
}

export function createPhaseHolder(): PhaseHolder {
  let phase: Phase = 'starting';
  return {
    get phase() {
      return phase;
    },
    enter(to, detail) {
      assert(next[phase].includes(to), `a daemon that is ${phase} cannot become ${to}`);
      phase = to;
      daemonChanged.publish(() => ({ state: to, detail }));
    },
  };
}
