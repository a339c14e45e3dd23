import type { Health } from '#http';
import type { QueueTrouble } from '#queue';
import type { Phase } from '../boot/phase.ts';

type Reason = Health['reasons'][number];

/** Words that may name a session stay out of the probes, which anybody may read. */
const wordsElsewhere = 'see "millrace status"';

/**
 * What the probes tell (ING-948). Pure: `trouble` is the queue's, and the daemon is ready unless some of it refuses appends; `degraded` is
 * everything else that is not well.
 */
export function healthOf(
  phase: Phase,
  trouble: readonly QueueTrouble[],
  degraded: readonly Reason[],
): Health {
  const isServing = phase === 'ready';
  const reasons = isServing
    ? [
        ...trouble.map(({ code, message }) => ({ code, message })),
        ...degraded.map(({ code }) => ({ code, message: wordsElsewhere })),
      ]
    : [{ code: phase.toUpperCase(), message: phaseMessages[phase] }];
  return {
    state: isServing && reasons.length > 0 ? 'degraded' : phase,
    isLive: phase !== 'fenced' && phase !== 'stopped',
    isReady: isServing && !trouble.some(({ isRefusing }) => isRefusing),
    reasons,
  };
}

const phaseMessages: Readonly<Record<Phase, string>> = {
  starting: 'the daemon takes its root',
  recovering: 'the journal is read and the stores are opened',
  ready: 'events are accepted',
  draining: 'the daemon stops: it takes no new events',
  fenced: 'another daemon has taken over: nothing is written any more',
  stopped: 'the daemon has stopped',
};
