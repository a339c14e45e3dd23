import { describe, expect, it } from 'vitest';
import { bookReasons, watchBooks, type BookFacts } from '../../src/daemon/watch/watch-books.ts';
import { fakeClock } from '../support/clock.ts';

const totals: BookFacts['totals'] = {
  accepted: 9,
  applied: 5,
  dead: 0,
  discarded: 0,
  duplicates: 0,
  pending: 4,
  quarantinedKeys: 0,
  activeKeys: 2,
  knownKeys: 3,
  backlogBytes: 100,
  oldestPendingMs: null,
};
const well: BookFacts = { totals, journalLagBytes: 1000, toldCodes: new Set() };
const nowMs = Date.UTC(2026, 5, 1);

describe('what the books say is not well', () => {
  it('is nothing while all is well, and a burst of some minutes is', () => {
    const busy = { ...well, totals: { ...totals, oldestPendingMs: nowMs - 9 * 60_000 } };
    expect(bookReasons(well, nowMs)).toEqual([]);
    expect(bookReasons(busy, nowMs)).toEqual([]);
  });

  it('names a stopped session that nobody has met since the start, an old backlog, and a long journal', () => {
    const facts = {
      ...well,
      journalLagBytes: 3 * 1024 ** 3,
      totals: { ...totals, quarantinedKeys: 2, oldestPendingMs: nowMs - 3 * 3_600_000 },
    };
    const codes = bookReasons(facts, nowMs).map(({ code }) => code);
    expect(codes).toEqual(['SESSION_QUARANTINED', 'BACKLOG_OLD', 'JOURNAL_LAG']);
    const [, old, lag] = bookReasons(facts, nowMs);
    expect(old?.message).toContain('3 h, behind 4 records of 2 sessions');
    expect(lag?.message).toContain('3 GiB');
    const told = { ...facts, toldCodes: new Set(['SESSION_QUARANTINED']) };
    expect(bookReasons(told, nowMs).map(({ code }) => code)).toEqual([
      'BACKLOG_OLD',
      'JOURNAL_LAG',
    ]);
  });

  it('keeps the time since when, and begins anew once it was well', async () => {
    const clock = fakeClock();
    let quarantinedKeys = 1;
    const look = watchBooks(clock, () => ({ ...well, totals: { ...totals, quarantinedKeys } }));
    const [first] = look();
    await clock.advance(60_000);
    expect(look()[0]?.since).toBe(first?.since);
    quarantinedKeys = 0;
    expect(look()).toEqual([]);
    quarantinedKeys = 1;
    expect(look()[0]?.since).not.toBe(first?.since);
  });
});
