import { FencePermit } from './permit.ts';

/** No root has this id, so no store of a real root takes such a permit for its own. */
export const labRootId = 'SR-lab';

/** A permit for stores that a laboratory has made for itself, of whatever generation the run is about; `isLive` ends it. */
export function labPermit(generation: number, isLive: () => boolean = () => true): FencePermit {
  return FencePermit.issue(`daemon:${labRootId}`, generation, `lab-${generation}`, isLive);
}
