import { describe, expect, it } from 'vitest';
import { expireLetters, expiresAtMs } from '#dead-letters';
import { createDeadLetters } from '#dead-letters';
import { contradiction, openDrain } from '../drain/drain-fixture.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe('retention of dead letters (ING-713, D22)', () => {
  it('counts from each letter, and never before a day of notice', () => {
    const ts = '2026-06-01T00:00:00.000Z';
    const bornMs = Date.parse(ts);
    const long = { retentionMs: 30 * dayMs, toldAtMs: bornMs };
    expect(expiresAtMs(ts, long)).toBe(bornMs + 30 * dayMs);
    const late = { retentionMs: 30 * dayMs, toldAtMs: bornMs + 90 * dayMs };
    expect(expiresAtMs(ts, late), 'an old letter has its notice').toBe(bornMs + 91 * dayMs);
    const short = { retentionMs: hourMs, toldAtMs: bornMs + dayMs };
    expect(expiresAtMs(ts, short)).toBe(bornMs + dayMs + hourMs);
  });

  it('warns first, discards what is due in the name of retention, and the books balance (P4)', async () => {
    const fixture = openDrain();
    const { queue, clock } = fixture;
    const letters = createDeadLetters({ queue, ledger: queue, wake: () => undefined });
    await fixture.post(contradiction('a', 0), contradiction('a', 1), contradiction('b', 0));
    await fixture.drained();
    const rule = { retentionMs: 30 * dayMs, toldAtMs: clock.now() };
    const nowMs = clock.now();
    expect(await expireLetters(letters, rule, nowMs)).toMatchObject({ expiring: 0, expired: 0 });
    expect(await expireLetters(letters, rule, nowMs + 29.5 * dayMs)).toMatchObject({
      expiring: 3,
      firstMs: expect.any(Number) as number,
      expired: 0,
    });
    expect(queue.totals()).toMatchObject({ dead: 3 });
    expect(await expireLetters(letters, rule, nowMs + 31 * dayMs)).toEqual({
      expiring: 0,
      firstMs: null,
      expired: 3,
    });
    expect(queue.totals()).toMatchObject({ accepted: 3, dead: 0, discarded: 3 });
    const [letter] = (await letters.list({ withRetired: true }, { limit: 1 })).letters;
    expect(letter?.outcome).toMatchObject({ kind: 'discarded', by: 'retention' });
    await fixture.close();
  });
});
