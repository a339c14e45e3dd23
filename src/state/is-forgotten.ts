import type { DedupEntry, LogPlace, WhichIds } from './state-store.ts';

/** Whether an entry is one of those. Dead letters before a place, and what became of them, keep theirs (ING-515). */
export function isForgotten(entry: DedupEntry, which: WhichIds): boolean {
  return 'from' in which
    ? !isBefore(entry, which.from)
    : entry.status === 'live' && isBefore(entry, which.before);
}

function isBefore(entry: DedupEntry, { ordinal, offset }: LogPlace): boolean {
  return entry.ordinal < ordinal || (entry.ordinal === ordinal && entry.offset < offset);
}
