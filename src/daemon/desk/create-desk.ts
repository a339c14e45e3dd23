import type { Chance, Clock } from '#base';
import type { ControlDatabase } from '#control';
import { createDeadLetters, createLetterJobs, type DeadLetterDependencies } from '#dead-letters';
import { createOperations, type OpsContext } from '#ops';
import type { QueueBackend, QueueLedger } from '#queue';
import { createLiveFeed } from '#signals';

/** What operators work with: letters, the acts on them and their record. */
export function createDesk(
  needs: Omit<DeadLetterDependencies, 'ledger'> & {
    readonly queue: QueueBackend & QueueLedger;
    readonly clock: Clock;
    readonly chance: Chance;
    readonly control: ControlDatabase;
  },
): Pick<OpsContext, 'deadLetters' | 'operations' | 'jobs' | 'feed'> {
  const { clock, chance, control, queue } = needs;
  const deadLetters = createDeadLetters({ ...needs, ledger: queue });
  const operations = createOperations({ rows: control.operations, clock, chance });
  const jobs = createLetterJobs({
    rows: control.jobs,
    letters: deadLetters,
    clock,
    chance,
    audit: ({ operationId, kind, principal, outcome, counts }) =>
      operations.record({
        operationId,
        verb: `job ${kind}`,
        principal,
        input: { job: operationId, counts },
        outcome,
        count: (counts['requeued'] ?? 0) + (counts['discarded'] ?? 0),
      }),
  });
  const life = Buffer.from(chance.bytes(6)).toString('hex');
  const feed = createLiveFeed({ clock, life });
  return { deadLetters, operations, jobs, feed };
}
