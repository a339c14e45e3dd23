import { FencePermit } from './permit.ts';

/** No root has this id, so no store of a real root takes such a permit for its own. */
export const labRootId = 'SR-lab';

/**
 * A permit for stores that a laboratory has made for itself, of whatever generation the run is about; `isLive` ends it. `isCurrent` is what the
 * lease row would say, where the holder shall not know yet.
 */
export function labPermit(
  generation: number,
  isLive: () => boolean = () => true,
  isCurrent: () => boolean = isLive,
): FencePermit {
  const holder = `lab-${generation}`;
  return FencePermit.issue(`daemon:${labRootId}`, generation, holder, isLive, isCurrent);
}
