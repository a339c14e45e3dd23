import { defineError, type ErrorFactory } from '#base';

export const mediaTypeUnsupported: ErrorFactory<{ reason: string }> = defineError(
  'MEDIA_TYPE_UNSUPPORTED',
  'reject',
  ({ reason }) => reason,
);

export const routeUnknown: ErrorFactory<{ method: string }> = defineError(
  'ROUTE_UNKNOWN',
  'reject',
  ({ method }) => `there is no such route for ${method}; the routes are in docs/http-api.md`,
);

export const requestMalformed: ErrorFactory<{ reason: string }> = defineError(
  'REQUEST_MALFORMED',
  'reject',
  ({ reason }) => `the request cannot be read: ${reason}`,
);

/** Node gave up waiting for the request, or its client has gone: never 408, on which clients drop data (ING-022). */
export const requestInterrupted: ErrorFactory<{ reason: string }> = defineError(
  'REQUEST_INTERRUPTED',
  'retry',
  ({ reason }) => `the request did not arrive whole (${reason}): send it again`,
);

export const inputInvalid: ErrorFactory<{ member: string; reason: string }> = defineError(
  'INPUT_INVALID',
  'reject',
  ({ member, reason }) => `${member === '' ? 'the input' : member} ${reason}`,
);

/** A defect of the program. Never thrown: it stands for whatever was, whose own words are for the log. */
export const internalError: ErrorFactory<{ request: string }> = defineError(
  'INTERNAL_ERROR',
  'fatal',
  ({ request }) => `a defect of the program; request ${request} is named in its log`,
);

export const listenFailed: ErrorFactory<{ address: string; reason: string }> = defineError(
  'LISTEN_FAILED',
  'fatal',
  ({ address, reason }) =>
    `cannot listen on ${address} (${reason}): stop what listens there, or choose another http.listen`,
);
