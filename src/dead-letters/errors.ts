import { defineError, type ErrorFactory } from '#base';

export const deadLetterUnknown: ErrorFactory<{ id: string }> = defineError(
  'DEAD_LETTER_UNKNOWN',
  'reject',
  ({ id }) => `there is no dead letter ${JSON.stringify(id)}; see "millrace dead list"`,
);

/** A discard that names nothing would give up every letter of the root (D22). */
export const filterTooWide: ErrorFactory<Record<string, never>> = defineError(
  'FILTER_TOO_WIDE',
  'reject',
  () => 'a discard needs a filter: name an id, session, workspace, code, event or time',
);
