import { tenureLost } from '#fence';
import { draining } from '#queue';
import type { Engine } from './engine.ts';

/** Before anybody is told that what he wrote is durable: a tenure that was taken over says so of nothing (P1, P6, ING-T45). */
export function assertStillWriter({ permit }: Engine['options']): void {
  if (permit.isCurrent()) return;
  throw tenureLost({
    domain: permit.domain,
    generation: permit.generation,
    reason: 'another has taken it',
  });
}

/** Nothing is handed over by who is no longer the writer, or is on its way out (ING-236, ING-825). */
export function assertWriter(engine: Pick<Engine, 'options' | 'isClosing'>): void {
  const { permit } = engine.options;
  if (!permit.isLive)
    throw tenureLost({
      domain: permit.domain,
      generation: permit.generation,
      reason: 'the permit is no longer live',
    });
  if (engine.isClosing) throw draining({ what: 'the queue' });
}
