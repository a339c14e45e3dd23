import type { Health } from '#http';
import type { Phase } from './phase.ts';

type Reason = Health['reasons'][number];

/** What the probes tell (ING-948). Pure: `trouble` keeps appends from being durable, `degraded` is everything that is not well. */
export function healthOf(
  phase: Phase,
  trouble: readonly Reason[],
  degraded: readonly Reason[],
): Health {
  const isServing = phase === 'ready';
  const reasons = isServing
    ? [...trouble, ...degraded].map(({ code, message }) => ({ code, message }))
    : [{ code: phase.toUpperCase(), message: phaseMessages[phase] }];
  return {
    state: isServing && reasons.length > 0 ? 'degraded' : phase,
    isLive: phase !== 'fenced' && phase !== 'stopped',
    isReady: isServing && trouble.length === 0,
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
