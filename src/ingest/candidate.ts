import type { AppendInput, AppendOutcome } from '#queue';
import { buildLine, type AcceptedEvent, type Acceptance } from '#record';
import type { Principal } from '#access';
import type { Place } from './check-record.ts';
import { batchRefused, eventIdConflict, sessionOwnerMismatch } from './errors.ts';
import type { RecordOutcome, Reject } from './ingest.ts';
import type { Redaction } from './live-redaction.ts';
import type { KeyCache } from './key-cache.ts';

/** A record that passed, as the queue takes it, with what its answer needs. */
export interface Candidate extends AppendInput {
  readonly place: Place;
  /** Null for an event that named no session (ING-944). */
  readonly shownSession: string | null;
}

type Growing = { -readonly [K in keyof Candidate]: Candidate[K] };

export interface Sender {
  readonly principal: Principal;
  readonly acceptance: Acceptance;
  readonly keys: KeyCache;
  /** Takes out what must not be stored; undefined where no rule is set. */
  readonly redact?: Redaction | undefined;
}

/** The line is built of copies, so the body is not kept alive by it. */
export function toCandidate(given: AcceptedEvent, place: Place, sender: Sender): Candidate {
  const event = sender.redact === undefined ? given : sender.redact(given);
  const { workspace, session } = event;
  const candidate: Growing = {
    key: sender.keys.keyOf(workspace, session),
    workspace,
    session,
    raw: buildLine(event, sender.acceptance),
    principal: sender.principal.name,
    mayWriteForeign: sender.principal.scopes.has('ops:write'),
    place,
    shownSession: event.hasSession ? session : null,
  };
  if (event.eventId !== undefined) candidate.eventId = event.eventId;
  if (event.isDerivedId) candidate.isDerivedId = true;
  return candidate;
}

/** What the queue said of a record, in the words of the answer. `refused` belongs to a request that is refused as a whole. */
export function toOutcome(candidate: Candidate, outcome: AppendOutcome): RecordOutcome {
  switch (outcome.status) {
    case 'queued':
    case 'duplicate':
      return {
        status: outcome.status,
        session: candidate.shownSession,
        workspace: candidate.workspace,
        epoch: outcome.epoch,
        position: outcome.position,
      };
    case 'conflict':
      return rejected(candidate, {
        code: eventIdConflict.code,
        message: `the event id ${JSON.stringify(candidate.eventId)} is stored with other content (at ${outcome.position}): give each event its own id`,
        stored_sha256: outcome.storedSha256,
      });
    case 'foreign':
      return rejected(candidate, {
        code: sessionOwnerMismatch.code,
        message: `the session belongs to "${outcome.owner}", who wrote to it first: use that token, or one with scope ops:write`,
      });
    case 'refused':
      return rejected(candidate, { code: batchRefused.code, message: 'left out with the others' });
  }
}

function rejected(
  { place }: Candidate,
  reject: Omit<Reject, 'index' | 'line'>,
): Extract<RecordOutcome, { status: 'rejected' }> {
  return { status: 'rejected', reject: { ...place, ...reject } };
}
