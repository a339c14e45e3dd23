import { assert } from '#base';
import type { AppendOutcome } from '#queue';
import type { Key } from '#record';
import { isCandidate, type Entry } from './admit.ts';
import { toOutcome } from './candidate.ts';
import type { RecordOutcome, Reject } from './ingest.ts';

export interface Settled {
  /** One per record, in order. */
  readonly outcomes: readonly RecordOutcome[];
  readonly queuedCount: number;
  readonly duplicateCount: number;
  readonly rejects: readonly Reject[];
  /** Keys of the request that got a record, each once. */
  readonly appendedKeys: readonly Key[];
  /** All keys that it named with a valid record. */
  readonly keys: readonly Key[];
}

/** Joins what checking and what the queue said of the records; `stored` has one outcome per candidate, in order. Pure. */
export function settleEntries(
  entries: readonly Entry[],
  stored: readonly AppendOutcome[],
): Settled {
  const outcomes: RecordOutcome[] = [];
  const rejects: Reject[] = [];
  const keys = new Set<Key>();
  const appendedKeys = new Set<Key>();
  let queuedCount = 0;
  let next = 0;
  for (const entry of entries) {
    if (!isCandidate(entry)) {
      rejects.push(entry);
      outcomes.push({ status: 'rejected', reject: entry });
      continue;
    }
    const found = stored[next++];
    assert(found !== undefined, 'a queue answers for every record');
    const outcome = toOutcome(entry, found);
    outcomes.push(outcome);
    keys.add(entry.key);
    if (outcome.status === 'rejected') rejects.push(outcome.reject);
    else if (outcome.status === 'queued') {
      queuedCount += 1;
      appendedKeys.add(entry.key);
    }
  }
  return {
    outcomes,
    queuedCount,
    duplicateCount: outcomes.length - rejects.length - queuedCount,
    rejects,
    appendedKeys: [...appendedKeys],
    keys: [...keys],
  };
}
