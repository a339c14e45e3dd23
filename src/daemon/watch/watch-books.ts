import { formatBytes, type Clock } from '#base';
import type { Degradation } from '#ops';
import type { QueueTotals } from '#queue';

/** A record that waits longer than this is not merely behind a burst. */
const backlogAgeMsMax = 10 * 60_000;
/** A start reads the journal from its mark on; a checkpoint begins long before this. */
const journalLagBytesMax = 1024 ** 3;

export interface BookFacts {
  readonly totals: QueueTotals;
  readonly journalLagBytes: number;
  /** What is told by those who know more of it. */
  readonly toldCodes: ReadonlySet<string>;
}

type Reason = Pick<Degradation, 'code' | 'message'>;

/** What the books alone say is not well, in words that an operator understands. Pure. */
export function bookReasons(
  { totals, journalLagBytes, toldCodes }: BookFacts,
  nowMs: number,
): readonly Reason[] {
  const { quarantinedKeys, oldestPendingMs, pending, activeKeys } = totals;
  const reasons: Reason[] = [];
  // A worker that meets damage says so with the session's name; after a start nobody has met it yet.
  if (quarantinedKeys > 0 && !toldCodes.has('SESSION_QUARANTINED'))
    reasons.push({
      code: 'SESSION_QUARANTINED',
      message: `${quarantinedKeys} sessions are stopped by damage and their records wait: see "millrace quarantine list"`,
    });
  const ageMs = oldestPendingMs === null ? 0 : nowMs - oldestPendingMs;
  if (ageMs > backlogAgeMsMax)
    reasons.push({
      code: 'BACKLOG_OLD',
      message: `the oldest record waits for ${minutes(ageMs)}, behind ${pending} records of ${activeKeys} sessions: "millrace top" shows whether the drain goes on, the other reasons why it does not`,
    });
  if (journalLagBytes > journalLagBytesMax)
    reasons.push({
      code: 'JOURNAL_LAG',
      message: `${formatBytes(journalLagBytes)} of the journal are not in session files yet: nothing is at risk, but a start would take longer; look at the disk`,
    });
  return reasons;
}

function minutes(ms: number): string {
  const all = Math.floor(ms / 60_000);
  return all < 120 ? `${all} min` : `${Math.floor(all / 60)} h`;
}

/** The same with the time since when. */
export function watchBooks(clock: Clock, facts: () => BookFacts): () => readonly Degradation[] {
  let known = new Map<string, string>();
  return () => {
    const now = clock.now();
    const reasons = bookReasons(facts(), now);
    const since = new Map(
      reasons.map(({ code }) => [code, known.get(code) ?? new Date(now).toISOString()]),
    );
    known = since;
    return reasons.map((reason) => ({ ...reason, since: since.get(reason.code) ?? '' }));
  };
}
