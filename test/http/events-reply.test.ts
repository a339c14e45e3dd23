import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { IngestAnswer, RecordOutcome } from '#ingest';
import { formatPosition } from '#record';
import { eventsReply } from '../../src/http/doors/events-reply.ts';

const context = { requestId: 'r-1', isPredecessor: false };
const group = { durability: 'group', acceptedAt: '2026-07-20T09:00:00.000Z' } as const;
const position = formatPosition({ ordinal: 0, offset: 0, epoch: 'e1' });

function answerOf(outcomes: readonly RecordOutcome[], isSingle = false): IngestAnswer {
  const rejects = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reject] : []));
  const queuedCount = outcomes.filter(({ status }) => status === 'queued').length;
  const duplicateCount = outcomes.length - queuedCount - rejects.length;
  return {
    isSingle,
    ...group,
    outcomes,
    queuedCount,
    duplicateCount,
    rejects,
    isQuarantined: false,
  };
}

/** The members of a result as the documentation names them. */
function told(outcome: RecordOutcome): object {
  if (outcome.status === 'rejected') return { status: 'rejected', code: outcome.reject.code };
  const { status, session, workspace, epoch } = outcome;
  return { status, session_id: session, workspace, epoch, position: outcome.position };
}

describe('eventsReply', () => {
  it('tells each record its own session, workspace and epoch, whatever was told before (ING-913)', () => {
    const id = fc.constantFrom('s', 'null', 'é', '🦀', 'q"', 'back\\slash', '\u2028');
    const stored = fc.record({
      status: fc.constantFrom('queued' as const, 'duplicate' as const),
      session: fc.option(id),
      workspace: id,
      epoch: fc.constantFrom('e1', 'e2'),
      position: fc.constant(position),
    });
    const reject = { index: 1, line: 2, code: 'EVENT_INVALID', message: 'event is missing' };
    const outcome = fc.oneof(
      { weight: 5, arbitrary: stored },
      fc.constant({ status: 'rejected' as const, reject }),
    );
    fc.assert(
      fc.property(stored, fc.array(outcome, { maxLength: 6 }), (first, others) => {
        const outcomes = [first, ...others];
        const answer = answerOf(outcomes);
        const { rejects } = answer;
        const refused = rejects.length === 0 ? {} : { rejects, request_id: 'r-1' };
        expect(JSON.parse(eventsReply(answer, context).body)).toEqual({
          ...refused,
          durability: 'group',
          accepted_at: group.acceptedAt,
          results: outcomes.map((one, index) => ({ index, ...told(one) })),
        });
        expect(JSON.parse(eventsReply(answerOf([first], true), context).body)).toEqual({
          ...told(first),
          durability: 'group',
          accepted_at: group.acceptedAt,
        });
      }),
      { numRuns: 500 },
    );
  });

  it('tells the sessions rightly when there are more of them than are kept in mind (P9)', () => {
    const outcomes = Array.from({ length: 3000 }, (_, at): RecordOutcome => ({
      status: 'queued',
      session: `s-${at}`,
      workspace: 'w',
      epoch: 'e1',
      position,
    }));
    const { results } = JSON.parse(eventsReply(answerOf(outcomes), context).body) as {
      readonly results: readonly { readonly session_id: string }[];
    };
    expect(results.map((one) => one.session_id)).toEqual(outcomes.map((_, at) => `s-${at}`));
  });
});
