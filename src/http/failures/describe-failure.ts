import {
  isMillraceError,
  unreachable,
  type Chance,
  type ErrorDetails,
  type MillraceError,
} from '#base';
import { diskFaultOf, diskUnavailable } from '#disk';
import { draining, queueWriteFailed, sessionQuarantined } from '#queue';
import { internalError, mediaTypeUnsupported, requestMalformed } from '../errors.ts';
import { statusOf } from './status-of-code.ts';

/** A failure in the words of the wire (ING-010). */
export interface Failure {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Set on exactly 429 and 503 (ING-022). Whole seconds, jitter in it. */
  readonly retryAfterSeconds: number | undefined;
  readonly details: ErrorDetails;
}

export interface FailureContext {
  readonly requestId: string;
  /** The request was to store events: a client must be able to send it again, whatever happened inside. */
  readonly isIngest: boolean;
  readonly chance: Chance;
}

/** HTTP's one switch on the disposition (D15). Codes that are internal never end a request that carried events (ING spec §9). */
export function describeFailure(error: unknown, context: FailureContext): Failure {
  if (!isMillraceError(error)) return foreignFailure(error, context);
  switch (error.disposition) {
    case 'reject':
    case 'poison':
    case 'fatal':
      return describe(error, context);
    case 'retry':
      return describe(context.isIngest ? publicRetry(error) : error, context);
    case 'fenced':
      return describe(draining({ what: 'the daemon' }), context);
    case 'corrupt':
      return describe(context.isIngest ? publicCorrupt(error) : error, context);
    default:
      return unreachable(error.disposition);
  }
}

function foreignFailure(error: unknown, context: FailureContext): Failure {
  const known = foreign(error, context);
  const isPassing = context.isIngest && known.disposition === 'retry';
  return describe(isPassing ? publicRetry(known) : known, context);
}

function describe(error: MillraceError, { chance }: FailureContext): Failure {
  const { code, disposition, message, details } = error;
  const status = statusOf(code, disposition);
  const isPassing = status === 429 || status === 503;
  return {
    status,
    code,
    message,
    retryAfterSeconds: isPassing ? retryAfterSeconds(error, chance) : undefined,
    details: code === internalError.code ? {} : details,
  };
}

const publicRetryCodes: ReadonlySet<string> = new Set([
  'BACKLOG_FULL',
  'QUEUE_FULL',
  'DISK_FULL',
  'QUEUE_WRITE_FAILED',
  'SESSION_QUARANTINED',
  'DRAINING',
  'RECOVERING',
  'REQUEST_INTERRUPTED',
]);

function publicRetry(error: MillraceError): MillraceError {
  return publicRetryCodes.has(error.code) ? error : queueWriteFailed({ reason: error.code }, error);
}

function publicCorrupt(error: MillraceError): MillraceError {
  const { key } = error.details;
  return sessionQuarantined(
    { keys: typeof key === 'string' ? [key] : ['the session'], reason: error.code },
    error,
  );
}

/** A fault of the machine may pass (D13); Fastify's own refusals have a status below 500; everything else is a defect. */
function foreign(error: unknown, { requestId }: FailureContext): MillraceError {
  const disk = diskFaultOf(error);
  if (disk !== undefined) {
    const { code, what, cure } = disk;
    return diskUnavailable({ doing: 'this', what: `${what} (${code})`, cure }, error);
  }
  const { statusCode, code } = error as { statusCode?: unknown; code?: unknown };
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return mediaTypeUnsupported({ reason: 'the media type of the body is not understood' });
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500)
    return requestMalformed({ reason: typeof code === 'string' ? code : 'it is not HTTP' });
  return internalError({ request: requestId });
}

/** Waits that suit the cause, in ms: a full queue drains in seconds, a quarantine waits for a person. */
const baseWaitMs: Readonly<Record<string, number>> = {
  BACKLOG_FULL: 2000,
  QUEUE_FULL: 4000,
  DISK_FULL: 4000,
  QUEUE_WRITE_FAILED: 2000,
  DRAINING: 4000,
  SESSION_QUARANTINED: 60_000,
};
const baseWaitMsDefault = 1000;
/** Chance adds up to this share, so that those who were refused together do not come back together. */
const jitterShare = 0.5;

function retryAfterSeconds({ code, details }: MillraceError, chance: Chance): number {
  const told = details['retryAfterMs'];
  const baseMs = typeof told === 'number' ? told : (baseWaitMs[code] ?? baseWaitMsDefault);
  return Math.max(1, Math.ceil((baseMs * (1 + jitterShare * chance.float())) / 1000));
}
