/** The guard that a graph carries: who may write it (FEN-401). */
export interface FenceMark {
  readonly domain: string;
  readonly generation: number;
  readonly holder: string;
}

/** `raise`: the mark goes up to the permit before the write; `stale`: another has taken over; `foreign`: the mark of another root (FEN-402). */
export type FenceVerdict = 'pass' | 'raise' | 'stale' | 'foreign';

/** Compares a permit with the mark that the graph carries; a graph without one is free. */
export function checkFence(mark: FenceMark | undefined, permit: FenceMark): FenceVerdict {
  if (mark === undefined) return 'raise';
  if (mark.domain !== permit.domain) return 'foreign';
  if (permit.generation !== mark.generation)
    return permit.generation > mark.generation ? 'raise' : 'stale';
  return permit.holder === mark.holder ? 'pass' : 'stale';
}
