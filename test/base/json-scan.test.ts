import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  parseJson,
  placesPerMember,
  scanObject,
  sliceMembers,
  type MemberPlaces,
  type ScannedObject,
} from '#base';

const depthMax = 8;

function scan(text: string): ScannedObject | undefined {
  return scanObject(Buffer.from(text, 'utf8').toString('latin1'), { depthMax, inside: 'data' });
}

/** Name, value and place of each member, as the second pass over a parsed text tells them. */
function membersOf(bytes: Buffer): readonly (readonly [number, number, number])[] {
  return sliceMembers(bytes).map(({ keyStart, start, end }) => [keyStart, start, end] as const);
}

function placesOf(places: MemberPlaces): readonly (readonly [number, number, number])[] {
  const found: (readonly [number, number, number])[] = [];
  for (let at = 0; at < places.length; at += placesPerMember)
    found.push([places[at] ?? -1, places[at + 2] ?? -1, places[at + 3] ?? -1]);
  return found;
}

/** What is taken must be what `parseJson` takes, with the members where it has them. */
function expectSound(text: string): boolean {
  const scanned = scan(text);
  if (scanned === undefined) return false;
  const bytes = Buffer.from(text, 'utf8');
  const value = parseJson(bytes, { depthMax }) as Record<string, unknown>;
  expect(placesOf(scanned.outer)).toEqual(membersOf(bytes));
  const last = sliceMembers(bytes).findLast(({ key }) => key === 'data');
  const isObject = last !== undefined && bytes[last.start] === 0x7b;
  expect(scanned.inner !== undefined).toBe(isObject);
  if (scanned.inner === undefined || last === undefined) return true;
  expect(placesOf(scanned.inner)).toEqual(
    membersOf(bytes.subarray(last.start, last.end)).map((places) =>
      places.map((place) => place + last.start),
    ),
  );
  expect(JSON.parse(bytes.toString('utf8', last.start, last.end))).toEqual(
    JSON.parse(JSON.stringify(value['data'])),
  );
  return true;
}

const name = fc.oneof(
  fc.constantFrom('data', 'dat', 'data2', 'event', '', 'ü', 'a b'),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);
const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, -0.5, 1e21, 'x'.repeat(40), '"\\'.repeat(20)),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
}));
const objectText = fc
  .array(fc.tuple(name, anyValue), { maxLength: 5 })
  .map((members) =>
    members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(','),
  )
  .map((inner) => `{${inner}}`);

describe('scanObject', () => {
  it('takes every compact object with plain names, and tells the members that a second pass would (D10)', () => {
    let taken = 0;
    let seen = 0;
    fc.assert(
      fc.property(objectText, (text) => {
        seen += 1;
        if (expectSound(text)) taken += 1;
        else expect(/\\|\p{Cc}/u.test(text)).toBe(true);
      }),
      { numRuns: 2000 },
    );
    expect(taken).toBeGreaterThan(seen / 2);
  });

  it('takes nothing that parseJson refuses, whatever was damaged (D10)', () => {
    const damage = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      drop: fc.nat({ max: 3 }),
      add: fc.oneof(
        fc.constant(''),
        fc.constantFrom(...Array.from('{}[]",:\\ \n\t0-+.eEutfn/\u0000\u001f\u0080é')),
        fc.string({ unit: 'binary', maxLength: 4 }),
      ),
    });
    fc.assert(
      fc.property(objectText, fc.array(damage, { minLength: 1, maxLength: 3 }), (text, damages) => {
        let damaged = text;
        for (const { at, drop, add } of damages) {
          const place = Math.floor(at * damaged.length);
          damaged = damaged.slice(0, place) + add + damaged.slice(place + drop);
        }
        if (damaged.isWellFormed()) expectSound(damaged);
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    '{}',
    ' { } ',
    '{"a":1}',
    '{ "a" : [ 1 , 2 ] , "b" : { "c" : null } }',
    '{"a":-0,"b":0.5,"c":1e5,"d":1E+5,"e":-1.25e-7}',
    String.raw`{"a":"\"\\\/\b\f\n\r\t\u00e9\ud800"}`,
    '{"data":{"x":1},"data":{"y":[true,false,null]}}',
    '{"data":1}',
    '{"data":{"x":1},"data":[]}',
    `{"a":"${'é'.repeat(30)}"}`,
    '{"__proto__":{"a":1},"data":{"__proto__":2}}',
  ])('takes %s', (text) => {
    expect(expectSound(text)).toBe(true);
  });

  it.each([
    '',
    '[]',
    '1',
    '{',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,}',
    '{,}',
    '{"a":1 "b":2}',
    '{"a":1}}',
    '{"a":1}x',
    '{a:1}',
    "{'a':1}",
    '{"a":01}',
    '{"a":1.}',
    '{"a":.5}',
    '{"a":+1}',
    '{"a":-}',
    '{"a":1e}',
    '{"a":0x1}',
    '{"a":NaN}',
    '{"a":tru}',
    '{"a":nul}',
    '{"a":[1,]}',
    '{"a":[,1]}',
    '{"a":[1 2]}',
    '{"a":{"b":1,}}',
    '{"a":{b:1}}',
    '{"a":"x}',
    String.raw`{"a":"\x"}`,
    String.raw`{"a":"\u12g4"}`,
    String.raw`{"a":"\u12"}`,
    String.raw`{"a":"\"}`,
    `{"a":"${'x'.repeat(40)}\\"}`,
    '{"a":"\u0000"}',
    '\ufeff{"a":1}',
    '{"a":1}\u00a0',
    '{"a"\u2028:1}',
  ])('refuses %s, as parseJson does', (text) => {
    expect(scan(text)).toBeUndefined();
    expect(() => {
      const value = parseJson(Buffer.from(text));
      if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error();
    }).toThrow();
  });

  it('leaves line breaks, tabs and escaped names to parseJson', () => {
    for (const text of ['{\n"a":1}', '{"a":\t1}', String.raw`{"\u0061":1}`])
      expect(scan(text)).toBeUndefined();
    const inner = String.raw`{"a":{"\u0061":1},"data":{"b":{"\u0061":1}}}`;
    expect(expectSound(inner)).toBe(true);
  });

  it('goes as deep as it may, and no deeper', () => {
    const nested = (depth: number): string =>
      `{"a":${'['.repeat(depth - 1)}1${']'.repeat(depth - 1)}}`;
    expect(expectSound(nested(depthMax))).toBe(true);
    expect(scan(nested(depthMax + 1))).toBeUndefined();
    const data = (depth: number): string =>
      `{"data":${'{"a":'.repeat(depth - 1)}1${'}'.repeat(depth - 1)}}`;
    expect(expectSound(data(depthMax))).toBe(true);
    expect(scan(data(depthMax + 1))).toBeUndefined();
  });
});
