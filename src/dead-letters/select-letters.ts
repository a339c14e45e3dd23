import { createHash } from 'node:crypto';
import type { DeadLetters, LetterFilter } from './dead-letters.ts';
import { selectionTooLarge } from './errors.ts';

/** Letters of one job: their ids are written down, about 100 bytes each. */
export const selectionMax = 1_000_000;
const idsPerWrite = 1000;

export interface Selection {
  readonly count: number;
  /** Stands for exactly these letters, in this order. */
  readonly confirm: string;
}

/** Tells the ids of all live letters that a filter means, some at a time; the memory does not follow their number. SELECTION_TOO_LARGE. */
export async function selectLetters(
  letters: Pick<DeadLetters, 'each'>,
  filter: LetterFilter,
  take: (ids: readonly string[]) => void,
): Promise<Selection> {
  const digest = createHash('sha256');
  let count = 0;
  let ids: string[] = [];
  for await (const { id, outcome } of letters.each(filter)) {
    if (outcome.kind !== 'live') continue;
    count += 1;
    if (count > selectionMax) throw selectionTooLarge({ max: selectionMax });
    digest.update(`${id}\n`);
    ids.push(id);
    if (ids.length < idsPerWrite) continue;
    take(ids);
    ids = [];
  }
  if (ids.length > 0) take(ids);
  return { count, confirm: digest.digest('hex').slice(0, 32) };
}
