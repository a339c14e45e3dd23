import { assert } from '#base';
import type { AppendOutcome } from '#queue';
import { isCandidate, type Entry } from './admit.ts';
import { toOutcome, type Candidate } from './candidate.ts';
import type { RecordOutcome, Reject } from './ingest.ts';

export interface Settled {
  /** One per record, in order. */
  readonly outcomes: readonly RecordOutcome[];
  readonly queuedCount: number;
  readonly duplicateCount: number;
  readonly rejects: readonly Reject[];
}

/** Joins what checking and what the queue said of the records; `stored` has one outcome per candidate, in order. Pure. */
export function settleEntries(
  entries: readonly Entry[],
  stored: readonly AppendOutcome[],
): Settled {
  const outcomes: RecordOutcome[] = [];
  const rejects: Reject[] = [];
  let queuedCount = 0;
  let next = 0;
  for (const entry of entries) {
    const outcome = isCandidate(entry) ? outcomeOf(entry, stored[next++]) : rejectedBy(entry);
    outcomes.push(outcome);
    if (outcome.status === 'rejected') rejects.push(outcome.reject);
    else if (outcome.status === 'queued') queuedCount += 1;
  }
  const duplicateCount = outcomes.length - rejects.length - queuedCount;
  return { outcomes, queuedCount, duplicateCount, rejects };
}

function outcomeOf(candidate: Candidate, stored: AppendOutcome | undefined): RecordOutcome {
  assert(stored !== undefined, 'a queue answers for every record');
  return toOutcome(candidate, stored);
}

function rejectedBy(reject: Reject): RecordOutcome {
  return { status: 'rejected', reject };
}
