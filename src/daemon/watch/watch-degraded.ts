import type { Clock } from '#base';
import type { Degradation } from '#ops';
import { daemonNoticed, healthChanged } from '#signals';
import { repeat } from '../repeat.ts';

const everyMs = 2000;

/** Logs what begins to be wrong and what is well again, once each: the status shows what is wrong now, the log when it was. */
export function watchDegraded(clock: Clock, degraded: () => readonly Degradation[]): () => void {
  let known = new Map<string, Degradation>();
  let told = '[]';
  return repeat(clock, everyMs, () => {
    const now = new Map(degraded().map((one) => [`${one.code} ${one.since}`, one]));
    for (const [id, { code, message }] of now)
      if (!known.has(id)) daemonNoticed.publish(() => ({ code, message }));
    for (const [id, { code, since }] of known)
      if (!now.has(id))
        daemonNoticed.publish(() => ({ code, message: `well again; it began at ${since}` }));
    known = now;
    const text = JSON.stringify([...now.values()]);
    if (text !== told) healthChanged.publish(() => ({ degraded: [...now.values()] }));
    told = text;
    return Promise.resolve();
  });
}
