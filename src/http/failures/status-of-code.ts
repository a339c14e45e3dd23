import { type Disposition, unreachable } from '#base';

/**
 * Status of each code that a caller can meet (ING-011). Every `reject` stands here, a test sees to it; the other dispositions have a status of
 * their own. None is 408 or 507, and 500 is left for defects and for damaged bytes that were asked for (ING-022).
 */
const statusOfCode: Readonly<Record<string, number>> = {
  RECORD_NOT_JSON: 400,
  RECORD_FRAMING: 400,
  BATCH_REFUSED: 400,
  REQUEST_MALFORMED: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  SESSION_OWNER_MISMATCH: 403,
  ROUTE_UNKNOWN: 404,
  SESSION_UNKNOWN: 404,
  KEY_UNKNOWN: 404,
  DEAD_LETTER_UNKNOWN: 404,
  TOKEN_UNKNOWN: 404,
  QUARANTINE_UNKNOWN: 404,
  JOB_UNKNOWN: 404,
  QUERY_UNKNOWN: 404,
  OBJECT_UNKNOWN: 404,
  OBJECT_EXPIRED: 410,
  NODE_UNKNOWN: 404,
  BLOB_UNKNOWN: 404,
  EVENT_ID_CONFLICT: 409,
  IDEMPOTENCY_CONFLICT: 409,
  SESSION_AMBIGUOUS: 409,
  DEAD_LETTER_STATE: 409,
  DEAD_LETTER_RANGE: 409,
  DEAD_LETTER_RETIRED: 409,
  DISCARD_UNCONFIRMED: 409,
  SELECTION_CHANGED: 409,
  JOB_STATE: 409,
  RESET_REFUSED: 409,
  CLEAR_REFUSED: 409,
  COMPACTION_REFUSED: 409,
  SESSION_PENDING: 409,
  VACUUM_REFUSED: 409,
  WRITE_OFF_REFUSED: 409,
  RETENTION_UNSUPPORTED: 409,
  SESSION_DELETE_UNSUPPORTED: 409,
  ADOPT_REFUSED: 409,
  BACKUP_PATH_REFUSED: 422,
  BACKUP_UNREADABLE: 422,
  TOKEN_EXISTS: 409,
  OPERATOR_MISSING: 409,
  ANSWER_NOT_KEPT: 409,
  REVISION_STALE: 412,
  RECORD_TOO_LARGE: 413,
  BATCH_TOO_LARGE: 413,
  MEDIA_TYPE_UNSUPPORTED: 415,
  WRONG_NODE: 421,
  ROOT_OTHER: 421,
  EVENT_INVALID: 422,
  SESSION_ID_INVALID: 422,
  INPUT_INVALID: 422,
  RETENTION_RULE_MISSING: 422,
  PAGE_TOKEN_INVALID: 422,
  CONFIG_RELOAD_REFUSED: 422,
  FILTER_TOO_WIDE: 422,
  SELECTION_TOO_LARGE: 422,
  EDIT_REFUSED: 422,
  TOKEN_INVALID: 422,
  QUERY_INVALID: 422,
  QUERY_TIMEOUT: 422,
  QUERY_TOO_LARGE: 422,
  CYPHER_INVALID: 422,
  CYPHER_UNSUPPORTED: 422,
  REVISION_REQUIRED: 428,
  BACKLOG_FULL: 429,
  // Defects of the calling code (ING spec §9).
  CURSOR_REQUIRED: 500,
  CAPABILITY_MISSING: 500,
  GUARD_STALE: 500,
  NOT_OWNER_THREAD: 500,
};

export function hasOwnStatus(code: string): boolean {
  return Object.hasOwn(statusOfCode, code);
}

export function statusOf(code: string, disposition: Disposition): number {
  return statusOfCode[code] ?? statusOfDisposition(disposition);
}

function statusOfDisposition(disposition: Disposition): number {
  switch (disposition) {
    case 'reject':
      return 400;
    case 'poison':
      return 409;
    case 'retry':
    case 'fenced':
      return 503;
    case 'corrupt':
    case 'fatal':
      return 500;
    default:
      return unreachable(disposition);
  }
}
