import { defineError, type ErrorFactory } from '#base';

export const deadLetterUnknown: ErrorFactory<{ id: string }> = defineError(
  'DEAD_LETTER_UNKNOWN',
  'reject',
  ({ id }) => `there is no dead letter ${JSON.stringify(id)}; see "millrace dead list"`,
);

/** Several records, or less than one: nobody can say what a new record of it would be (ING-412). */
export const deadLetterRange: ErrorFactory<{ id: string; records: number }> = defineError(
  'DEAD_LETTER_RANGE',
  'reject',
  ({ id, records }) =>
    `dead letter ${id} is a damaged range that held ${records} records, not one record: show or export its bytes, post what can be saved as new events, then discard it`,
);

/** A discard that names nothing would give up every letter of the root (D22). */
export const filterTooWide: ErrorFactory<Record<string, never>> = defineError(
  'FILTER_TOO_WIDE',
  'reject',
  () => 'a discard needs a filter: name an id, session, workspace, code, event or time',
);

/** ING-715 */
export const deadLetterRetired: ErrorFactory<{ id: string }> = defineError(
  'DEAD_LETTER_RETIRED',
  'reject',
  ({ id }) =>
    `dead letter ${id} is of an earlier life of its session, which is open again: say --into-current (into_current) to append it to the present one`,
);

export const editRefused: ErrorFactory<{ id: string; reason: string }> = defineError(
  'EDIT_REFUSED',
  'reject',
  ({ id, reason }) => `dead letter ${id} cannot be requeued with this event: ${reason}`,
);

/** A discard gives accepted events up, so it is said twice (ING-923). */
export const discardUnconfirmed: ErrorFactory<{ count: number }> = defineError(
  'DISCARD_UNCONFIRMED',
  'reject',
  ({ count }) =>
    `this would discard ${count} dead letters for good: repeat it with the confirm of its dry run (on the command line: --yes)`,
);

export const selectionChanged: ErrorFactory<{ count: number }> = defineError(
  'SELECTION_CHANGED',
  'reject',
  ({ count }) =>
    `what this names is other than what the dry run has shown, ${count} by now: nothing was done, look at it again`,
);

export const selectionTooLarge: ErrorFactory<{ max: number }> = defineError(
  'SELECTION_TOO_LARGE',
  'reject',
  ({ max }) => `this names more than ${max} dead letters: narrow the filter, and repeat it`,
);

export const jobUnknown: ErrorFactory<{ id: string }> = defineError(
  'JOB_UNKNOWN',
  'reject',
  ({ id }) => `there is no job ${JSON.stringify(id)}; "millrace jobs list" shows them all`,
);

export const jobState: ErrorFactory<{ id: string; state: string }> = defineError(
  'JOB_STATE',
  'reject',
  ({ id, state }) => `job ${id} is ${state}: that cannot be done to it any more`,
);

export const jobsFull: ErrorFactory<{ max: number }> = defineError(
  'JOBS_FULL',
  'retry',
  ({ max }) => `${max} jobs are at work already: wait for one, or cancel it`,
);
