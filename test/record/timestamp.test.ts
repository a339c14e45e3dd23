import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTimestamp, parseTimestamp } from '#record';

/** What Python 3.11's `datetime.fromisoformat` makes of each text, zone-less as UTC; null where it raises. */
const asPythonReads: readonly (readonly [string, string | null])[] = [
  ['2026-07-20T09:00:00.137456+00:00', '2026-07-20T09:00:00.137456000Z'],
  ['2026-07-20T09:00:00Z', '2026-07-20T09:00:00.000000000Z'],
  ['2026-07-08', '2026-07-08T00:00:00.000000000Z'],
  ['20260708T160127', '2026-07-08T16:01:27.000000000Z'],
  ['2026-07-08 16:01', '2026-07-08T16:01:00.000000000Z'],
  ['2026-07-08x16', '2026-07-08T16:00:00.000000000Z'],
  ['2026-07-08T16:01:27,5', '2026-07-08T16:01:27.500000000Z'],
  ['2026-07-08T16:01:27.123+02:00', '2026-07-08T14:01:27.123000000Z'],
  ['2026-07-08T16:01:27-0730', '2026-07-08T23:31:27.000000000Z'],
  ['2026-07-08T16:01:27+01:00:00.000001', '2026-07-08T15:01:26.999999000Z'],
  ['2026-07-08T16:01.5', '2026-07-08T16:01:00.500000000Z'],
  ['2026-07-08T16,25', '2026-07-08T16:00:00.250000000Z'],
  ['2026W28301', '2026-07-06T01:00:00.000000000Z'],
  ['2026W283 01', '2026-07-08T01:00:00.000000000Z'],
  ['2026W2830102', '2026-07-06T01:02:00.000000000Z'],
  ['2026-W28-3-01', '2026-07-08T01:00:00.000000000Z'],
  ['2026-W28x01', '2026-07-06T01:00:00.000000000Z'],
  ['2026-W01', '2025-12-29T00:00:00.000000000Z'],
  ['2026W01', '2025-12-29T00:00:00.000000000Z'],
  ['2026-W28-3', '2026-07-08T00:00:00.000000000Z'],
  ['2026W283', '2026-07-08T00:00:00.000000000Z'],
  ['2026-W28-3T01:02', '2026-07-08T01:02:00.000000000Z'],
  ['2026W283T0102', '2026-07-08T01:02:00.000000000Z'],
  ['2026-W28-01:02', '2026-07-06T01:02:00.000000000Z'],
  ['2020-W53-7', '2021-01-03T00:00:00.000000000Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000000000Z'],
  ['0001-01-01', '0001-01-01T00:00:00.000000000Z'],
  ['9999-12-31T23:59:59.999999', '9999-12-31T23:59:59.999999000Z'],
  ['2026-07-08T16:01:27é', null],
  ['2026-07', null],
  ['2026', null],
  ['', null],
  [' 2026-07-08', null],
  ['2026-07-08T', null],
  ['2026-07-08T1', null],
  ['2026-07-08T16:0127', null],
  ['2026-07-08T1601:27', null],
  ['2026-07-08T16:01:60', null],
  ['2026-07-08T24:00', null],
  ['2026-07-08T16:01:27.', null],
  ['2026-07-08T16:.5', null],
  ['2026-07-08T16.', null],
  ['2026-07-08T16:01:27z', null],
  ['2026-07-08T16:01:27Zulu', null],
  ['2026-07-08T16:01:27+0', null],
  ['2026-07-08T16:01:27+24:00', null],
  ['2025-02-29', null],
  ['2026-13-01', null],
  ['2026-00-01', null],
  ['2026-07-32', null],
  ['0000-01-01', null],
  ['2026-W54', null],
  ['2025-W53', null],
  ['2026-W28-8', null],
  ['2026-7-8', null],
  ['July 8, 2026', null],
  ['1783526487', null],
];

describe('timestamp', () => {
  it('takes what Python 3.11 takes and refuses what it refuses (ING-911)', () => {
    for (const [text, canonical] of asPythonReads) {
      expect([text, parseTimestamp(text)?.canonical ?? null]).toEqual([text, canonical]);
    }
  });

  it('keeps nine fraction digits where Python cuts six, and no more (G4)', () => {
    expect(parseTimestamp('2026-07-20T09:00:00.123456789+00:00')?.canonical).toBe(
      '2026-07-20T09:00:00.123456789Z',
    );
    expect(parseTimestamp('2026-07-20T09:00:00.9999999999Z')).toEqual({
      canonical: '2026-07-20T09:00:00.999999999Z',
      epochMs: Date.UTC(2026, 6, 20, 9) + 999,
    });
  });

  it('cuts the milliseconds of a node id towards zero', () => {
    expect(parseTimestamp('1970-01-01T00:00:00.0019Z')?.epochMs).toBe(1);
    expect(parseTimestamp('1969-12-31T23:59:59.9981Z')?.epochMs).toBe(-1);
    expect(parseTimestamp('1969-12-31T23:59:59.9995Z')?.epochMs).toBe(0);
  });

  it('refuses instants outside the years 1 to 9999 of UTC', () => {
    expect(parseTimestamp('0001-01-01T00:00+01:00')).toBeUndefined();
    expect(parseTimestamp('9999-12-31T23:59-01:00')).toBeUndefined();
  });

  it('gives texts that sort as their instants do, and reads its own texts', () => {
    const instant = fc.date({
      min: new Date('0001-01-02'),
      max: new Date('9999-12-30'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(instant, instant, fc.integer({ min: -23, max: 23 }), (a, b, hours) => {
        const zone = `${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}:00`;
        const local = new Date(a.getTime() + hours * 3_600_000).toISOString().slice(0, -1) + zone;
        const [canonicalA, canonicalB] = [
          parseTimestamp(local)?.canonical ?? '',
          parseTimestamp(b.toISOString())?.canonical ?? '',
        ];
        expect(canonicalA).toBe(`${a.toISOString().slice(0, -1)}000000Z`);
        expect(canonicalA < canonicalB).toBe(a < b);
        expect(parseTimestamp(canonicalA)?.canonical).toBe(canonicalA);
      }),
    );
  });

  it('is known to be one, without being read, exactly when it can be read', () => {
    const digits = (length: number): fc.Arbitrary<string> =>
      fc.string({
        unit: fc.constantFrom('0', '1', '2', '3', '5', '9'),
        minLength: length,
        maxLength: length,
      });
    const common = fc
      .tuple(
        digits(4),
        digits(2),
        digits(2),
        digits(2),
        digits(2),
        digits(2),
        fc.constantFrom('', '.1', '.999999999', '.'),
        fc.constantFrom('', 'Z', '+01:00', '-23:59', '+24:00', '-99:99', 'z'),
      )
      .map(
        ([y, mo, d, h, mi, sec, fraction, zone]) =>
          `${y}-${mo}-${d}T${h}:${mi}:${sec}${fraction}${zone}`,
      );
    const known = fc.constantFrom(...asPythonReads.map(([text]) => text));
    fc.assert(
      fc.property(fc.oneof(common, known), (text) => {
        expect(isTimestamp(text), text).toBe(parseTimestamp(text) !== undefined);
      }),
      { numRuns: 5000 },
    );
  });

  it('is the same instant in the form that clients write and in the one that nobody does', () => {
    const fraction = fc.string({
      unit: fc.constantFrom('0', '1', '5', '9'),
      minLength: 0,
      maxLength: 9,
    });
    const instant = fc.date({
      min: new Date('1000-01-01T00:00:00Z'),
      max: new Date('9998-12-31T23:59:59Z'),
      noInvalidDate: true,
    });
    const zone = fc.constantFrom('Z', '', '+00:00', '-00:00', '+05:30');
    fc.assert(
      fc.property(instant, fraction, zone, (date, digits, offset) => {
        const seconds = date.toISOString().slice(0, 19);
        const [mark, otherMark] = digits === '' ? ['', ''] : ['.', ','];
        const common = parseTimestamp(`${seconds}${mark}${digits}${offset}`);
        const rare = parseTimestamp(`${seconds.replace('T', ' ')}${otherMark}${digits}${offset}`);
        expect(common).toBeDefined();
        expect(common).toEqual(rare);
      }),
      { numRuns: 3000 },
    );
  });
});
