import type { DedupEntry, LogPlace } from './state-store.ts';

/** An id of a record that was applied before this place. Dead letters and what became of them keep theirs (ING-515). */
export function isForgotten({ status, ordinal, offset }: DedupEntry, before: LogPlace): boolean {
  if (status !== 'live') return false;
  return ordinal < before.ordinal || (ordinal === before.ordinal && offset < before.offset);
}
