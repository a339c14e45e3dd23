import type { Chance, Clock } from '#base';
import type { ControlDatabase } from '#control';
import { createDeadLetters, createLetterJobs } from '#dead-letters';
import { fold } from '#handlers';
import { createOperations, type OpsContext } from '#ops';
import type { Redaction } from '#ingest';
import type { Key } from '#record';
import { createLiveFeed } from '#signals';
import type { Stores } from './assemble.ts';

/** What operators work with: letters, the acts on them and their record. */
export function createDesk(needs: {
  readonly redact: Redaction;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly control: ControlDatabase;
  readonly stores: Stores;
  readonly wake: (key: Key) => void;
}): Pick<OpsContext, 'deadLetters' | 'operations' | 'jobs' | 'feed'> {
  const { redact, clock, chance, control, stores, wake } = needs;
  const { queue, neighbours, graph } = stores;
  const folding = { fold, spillBytes: graph.spillBytes };
  const deadLetters = createDeadLetters({
    redact,
    queue,
    ledger: queue,
    neighbours,
    folding,
    wake,
  });
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
