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
