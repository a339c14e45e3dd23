import { describe, expect, it } from 'vitest';
import { fingerprintOf, normaliseMessage } from '#dead-letters';
import { encodeKey } from '#record';

const letter = (session: string, message: string, code = 'C') => ({
  key: encodeKey('w', session),
  workspace: 'w',
  session,
  error: { code, message },
});

describe('the fingerprint of a dead letter', () => {
  it('is one for one cause, whatever session, id, number, time and text it names', () => {
    const one = fingerprintOf(
      letter(
        'a',
        'session:fork of session a at 2026-06-01T00:00:00.000Z: "x" is 12 bytes, id 0f4c1f5e-6a51-4d0e-9a55-6f1d0c0a7b01',
      ),
    );
    const other = fingerprintOf(
      letter(
        'bb',
        'session:fork of session bb at 2027-01-01T10:00:00.5Z: "y \\" z" is 9 bytes, id 1f4c1f5e-6a51-4d0e-9a55-6f1d0c0a7b02',
      ),
    );
    expect(one).toBe(other);
    expect(one).toMatch(/^[0-9a-f]{16}$/);
  });

  it('tells causes apart by code and words', () => {
    const same = letter('a', 'no such field');
    expect(fingerprintOf(same)).not.toBe(
      fingerprintOf({ ...same, error: { code: 'D', message: 'no such field' } }),
    );
    expect(fingerprintOf(same)).not.toBe(fingerprintOf(letter('a', 'no such member')));
  });

  it('takes a name for a name only where it stands as one', () => {
    expect(normaliseMessage(letter('a', 'a record of session a has a fault'))).toBe(
      'a record of session … has a fault',
    );
    const long = '0f4c1f5e6a514d0e9a55-session-name';
    expect(normaliseMessage(letter(long, `the end of ${long} is missing`))).toBe(
      'the end of … is missing',
    );
  });
  it.each([
    ["can't encode character '\\ud83d' in position 7", "can't encode character '…' in position N"],
    ['Neo4j pool timeout after 30s: 10.0.0.17', 'Neo4j pool timeout after Ns: N.N.N.N'],
    ['call c17 of tool2 took 5 ms', 'call cN of toolN took N ms'],
  ])('leaves the words of %j readable', (message, shown) => {
    expect(normaliseMessage(letter('a', message))).toBe(shown);
  });
});
