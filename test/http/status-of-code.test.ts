import { describe, expect, it } from 'vitest';
import { registeredCodes } from '#base';
import { hasOwnStatus, statusOf } from '#http';

/** Codes of rooms above and of other callers never reach HTTP. */
const reached = registeredCodes();

describe('the table of statuses', () => {
  it('has every reject that a caller can meet (ING-011)', () => {
    const missing = reached
      .filter(({ disposition }) => disposition === 'reject')
      .filter(({ code }) => !hasOwnStatus(code))
      .map(({ code }) => code);
    expect(missing, 'give each a status in src/http/failures/status-of-code.ts').toEqual([]);
  });

  it('answers passing trouble 429 or 503 and never 408 or 507 (D13, ING-022)', () => {
    for (const { code, disposition } of reached) {
      const status = statusOf(code, disposition);
      expect([408, 507], code).not.toContain(status);
      expect(status, code).toBeGreaterThanOrEqual(400);
      const isPassing = status === 429 || status === 503;
      expect(isPassing, `${code} ${status}`).toBe(
        disposition === 'retry' || disposition === 'fenced',
      );
    }
  });

  it('leaves 500 for defects and for damaged bytes', () => {
    const others = reached
      .filter(({ code, disposition }) => statusOf(code, disposition) >= 500)
      .filter(({ disposition }) => !['retry', 'fenced', 'corrupt', 'fatal'].includes(disposition))
      .map(({ code }) => code);
    expect(others.toSorted()).toEqual(
      ['CAPABILITY_MISSING', 'CURSOR_REQUIRED', 'GUARD_STALE', 'NOT_OWNER_THREAD'].toSorted(),
    );
  });

  it('has the statuses of the specification', () => {
    const told = {
      RECORD_NOT_JSON: 400,
      RECORD_FRAMING: 400,
      BATCH_REFUSED: 400,
      UNAUTHENTICATED: 401,
      FORBIDDEN: 403,
      SESSION_OWNER_MISMATCH: 403,
      EVENT_ID_CONFLICT: 409,
      DEAD_LETTER_STATE: 409,
      RECORD_TOO_LARGE: 413,
      BATCH_TOO_LARGE: 413,
      MEDIA_TYPE_UNSUPPORTED: 415,
      EVENT_INVALID: 422,
      SESSION_ID_INVALID: 422,
      BACKLOG_FULL: 429,
      QUEUE_FULL: 503,
      QUEUE_WRITE_FAILED: 503,
      SESSION_QUARANTINED: 503,
      DRAINING: 503,
    };
    for (const [code, status] of Object.entries(told)) {
      const found = reached.find((registered) => registered.code === code);
      expect(found, code).toBeDefined();
      if (found !== undefined) expect(statusOf(code, found.disposition), code).toBe(status);
    }
  });
});
