import { sessionDeleting } from '#queue';
import type { Key } from '#record';
import type { Engine } from '../engine.ts';

/** Nothing is taken for a key that is being deleted: it would be gone with it, acknowledged. */
export function refuseShut(engine: Pick<Engine, 'shut'>, keys: readonly Key[]): void {
  if (engine.shut.size === 0) return;
  const shut = keys.filter((key) => engine.shut.has(key));
  if (shut.length > 0) throw sessionDeleting({ keys: [...new Set(shut)] });
}
