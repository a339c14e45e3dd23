import type { PlannedStep } from './plan-batch.ts';

export interface ChunkLimit {
  readonly records: number;
  readonly bytes: number;
}

/** Cuts steps at record boundaries so that each part fits one transaction; a single step above the limit stands alone (ING-532, ING-854). */
export function planChunks(
  steps: readonly PlannedStep[],
  max: ChunkLimit,
): readonly (readonly PlannedStep[])[] {
  const chunks: PlannedStep[][] = [];
  let chunk: PlannedStep[] = [];
  let bytes = 0;
  for (const step of steps) {
    if (chunk.length > 0 && (chunk.length >= max.records || bytes + step.bytes > max.bytes)) {
      chunks.push(chunk);
      chunk = [];
      bytes = 0;
    }
    chunk.push(step);
    bytes += step.bytes;
  }
  return chunk.length > 0 ? [...chunks, chunk] : chunks;
}

/** The bisect of what was refused as a whole: first half first (ING-537). At least two members. */
export function planHalves<T>(refused: readonly T[]): readonly [readonly T[], readonly T[]] {
  const middle = Math.ceil(refused.length / 2);
  return [refused.slice(0, middle), refused.slice(middle)];
}
