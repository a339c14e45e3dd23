import { defineError, type ErrorFactory } from '#base';

/** A record that contradicts itself (D28): the only poison that a fold finds. */
export const EVENT_CONTRADICTS: ErrorFactory<{
  readonly event: string;
  readonly session: string;
  readonly member: string;
}> = defineError(
  'EVENT_CONTRADICTS',
  'poison',
  ({ event, session, member }) =>
    `${event} of session ${session} names the session itself in data.${member}; correct the event and requeue it, or discard it`,
);

/** A fold that threw anything else (ING-536): a defect of the program, kept away from the other records. */
export const HANDLER_FAILED: ErrorFactory<{
  readonly event: string;
  readonly session: string;
  readonly reason: string;
}> = defineError(
  'HANDLER_FAILED',
  'poison',
  ({ event, session, reason }) =>
    `the handler of ${event} failed on session ${session}: ${reason}; this is a bug, report it and requeue the record afterwards`,
);
