import type { EventFrame } from '#record';
import { depthMax, type Checked, type RecordRules } from './check-record.ts';
import { toCandidate, type Candidate, type Sender } from './candidate.ts';
import { batchTooLarge, eventInvalid } from './errors.ts';
import type { IngestLimits, IngestRequest, Reject } from './ingest.ts';
import { splitBody, type Records } from './split-body.ts';

/** A record that passed, or why it did not. */
export type Entry = Candidate | Reject;

/** Checking pauses after this much of a batch, about ten milliseconds, so that other requests are not held up by a large one. */
const portionBytes = 1024 * 1024;

/** A request whose records are being checked, portion by portion. */
export interface Admission {
  readonly isSingle: boolean;
  /** Records so far, in order. */
  readonly entries: readonly Entry[];
  /** Checks the next portion; true when that was the last. Throws BATCH_TOO_LARGE. */
  takePortion(): boolean;
}

/** Throws EVENT_INVALID for an id of the request that cannot be the id of one event (ING-512). */
export function beginAdmission(
  request: IngestRequest,
  sender: Sender,
  limits: IngestLimits,
): Admission {
  const { session, idempotencyKey } = request;
  const rules: RecordRules = {
    principal: request.principal,
    eventBytesMax: limits.eventBytesMax,
    depthMax,
    frame: session === undefined && idempotencyKey === undefined ? noFrame : frameOf(request),
  };
  const { single, records } = splitBody(request.body, request.form, rules);
  if (single !== undefined)
    return { isSingle: true, entries: [entryOf(single, sender)], takePortion: isAll };
  if (idempotencyKey !== undefined)
    throw eventInvalid({
      reason: 'Idempotency-Key is the id of one event: in a batch give each event its event_id',
    });
  return admitBatch(records, sender, limits);
}

const noFrame: EventFrame = {};

function isAll(): boolean {
  return true;
}

function frameOf({ session, idempotencyKey }: IngestRequest): EventFrame {
  return {
    ...(session === undefined ? {} : { session }),
    ...(idempotencyKey === undefined ? {} : { eventId: idempotencyKey }),
  };
}

function admitBatch(records: Records | undefined, sender: Sender, limits: IngestLimits): Admission {
  const entries: Entry[] = [];
  return {
    isSingle: false,
    entries,
    takePortion() {
      for (let bytes = 0; bytes < portionBytes;) {
        const checked = records?.next();
        if (checked === undefined) return true;
        if (entries.length >= limits.batchRecordsMax) throw tooManyRecords(limits);
        const entry = entryOf(checked, sender);
        entries.push(entry);
        bytes += 'raw' in entry ? entry.raw.byteLength : rejectBytes;
      }
      return false;
    },
  };
}

/** What a reject counts for: finding the place of a fault costs more than checking a good record. */
const rejectBytes = 4096;

function entryOf(checked: Checked, sender: Sender): Entry {
  return checked.event === undefined
    ? checked.reject
    : toCandidate(checked.event, checked.place, sender);
}

export function isCandidate(entry: Entry): entry is Candidate {
  return 'raw' in entry;
}

export function isReject(entry: Entry): entry is Reject {
  return !isCandidate(entry);
}

function tooManyRecords({ batchRecordsMax }: IngestLimits): Error {
  return batchTooLarge({
    reason: `the request has more than ${batchRecordsMax} records (ingest.max_batch_records): send it in parts`,
  });
}
