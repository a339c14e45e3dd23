import { isAscii } from 'node:buffer';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ObjectScan, parseJson, scanSource, sliceMembers } from '#base';

const depthMax = 8;
const names = { outer: ['event', 'data', 'dat'], inside: 'data', inner: ['event', 'a b', 'x'] };
const dataSlot = names.outer.indexOf('data');
const one = new ObjectScan(names);

interface Place {
  readonly start: number;
  readonly end: number;
}

/** What a scan tells of the bytes, in the middle of others; undefined when it refuses them. */
function scanBytes(bytes: Buffer): Scanned | undefined {
  const before = Buffer.from('{"data":{},"x":"');
  const around = Buffer.concat([before, bytes, Buffer.from(',"":"\\"}')]);
  const start = before.length;
  const isSound = one.run(scanSource(around), start, start + bytes.length, depthMax);
  // Where the bytes end must not count on what is behind them.
  expect(new ObjectScan(names).run(scanSource(bytes), 0, bytes.length, depthMax)).toBe(isSound);
  if (!isSound) return undefined;
  const places = new Map<number, Place>();
  for (let slot = 0; slot < names.outer.length + names.inner.length; slot += 1)
    if (one.start(slot) >= 0)
      places.set(slot, { start: one.start(slot) - start, end: one.end(slot) - start });
  const others: Place[] = [];
  for (let at = 0; at < one.othersLength; at += 2)
    others.push({ start: one.other(at) - start, end: one.other(at + 1) - start });
  const unescaped = [...places.keys()].filter((slot) => one.isUnescaped(slot));
  return { places, others, unescaped, isAscii: one.isAscii };
}

interface Scanned {
  readonly places: ReadonlyMap<number, Place>;
  readonly others: readonly Place[];
  readonly unescaped: readonly number[];
  readonly isAscii: boolean;
}

function scan(text: string): Scanned | undefined {
  return scanBytes(Buffer.from(text, 'utf8'));
}

/** The same by a second pass over parsed bytes. */
function expected(bytes: Buffer): Pick<Scanned, 'places' | 'others'> {
  const places = new Map<number, Place>();
  const others: Place[] = [];
  for (const { key, keyStart, start, end } of sliceMembers(bytes)) {
    const slot = names.outer.indexOf(key);
    if (slot < 0) others.push({ start: keyStart, end });
    else places.set(slot, { start, end });
  }
  const data = places.get(dataSlot);
  if (data === undefined) return { places, others };
  for (const { key, start, end } of sliceMembers(bytes.subarray(data.start, data.end))) {
    const slot = names.inner.indexOf(key);
    if (slot >= 0)
      places.set(names.outer.length + slot, { start: data.start + start, end: data.start + end });
  }
  return { places, others };
}

/** What is taken must be what `parseJson` takes, with the members where it has them. */
function expectSound(text: string): boolean {
  const scanned = scan(text);
  if (scanned === undefined) return false;
  const bytes = Buffer.from(text, 'utf8');
  parseJson(bytes, { depthMax });
  const { places, others } = expected(bytes);
  expect(bytes[places.get(dataSlot)?.start ?? -1]).toBe(0x7b);
  expect(scanned.places).toEqual(places);
  expect(scanned.others).toEqual(others);
  expect(scanned.unescaped).toEqual(
    [...scanned.places.keys()].filter((slot) => {
      const { start, end } = places.get(slot) as Place;
      return !bytes.subarray(start, end).includes(0x5c);
    }),
  );
  expect(scanned.isAscii).toBe(isAscii(bytes));
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
const member = fc.tuple(name, anyValue);
const data = fc.tuple(fc.constant('data'), fc.dictionary(name, anyValue, { maxKeys: 5 }));
const objectText = fc
  .tuple(fc.array(member, { maxLength: 4 }), data, fc.array(member, { maxLength: 2 }))
  .map(([before, inside, after]) =>
    [...before, inside, ...after].map(
      ([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`,
    ),
  )
  .map((members) => `{${members.join(',')}}`);

/** Whether it has what is looked into. */
function hasInside(text: string): boolean {
  const { data: inside } = JSON.parse(text) as { readonly data?: unknown };
  return typeof inside === 'object' && inside !== null && !Array.isArray(inside);
}

/** The text as the value that is looked into, and as another one. */
function wrapped(text: string): readonly string[] {
  return [`{"data":${text}}`, `{"data":{},"a":${text}}`, `{"a":[${text}],"data":{"x":1}}`];
}

describe('ObjectScan', () => {
  it('takes every compact object with plain names, and tells the members that a second pass would (D10)', () => {
    let taken = 0;
    let seen = 0;
    fc.assert(
      fc.property(objectText, (text) => {
        seen += 1;
        if (expectSound(text)) taken += 1;
        else expect(/\\|\p{Cc}/u.test(text) && hasInside(text)).toBe(hasInside(text));
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
    for (const one of wrapped(text)) expect(expectSound(one)).toBe(true);
    expect(expectSound(text)).toBe(hasInside(text));
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
    for (const one of text.startsWith('{') ? [text, ...wrapped(text)] : [text])
      expect(scan(one)).toBeUndefined();
    expect(() => {
      const value = parseJson(Buffer.from(text));
      if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error();
    }).toThrow();
  });

  it('leaves line breaks, tabs and escaped names to parseJson', () => {
    for (const text of ['{\n"a":1}', '{"a":\t1}', String.raw`{"\u0061":1}`]) {
      expect(scan(`{"data":${text}}`)).toBeUndefined();
      expect(scan(`${text.slice(0, -1)},"data":{}}`)).toBeUndefined();
    }
    const inner = String.raw`{"a":{"\u0061":1},"data":{"b":{"\u0061":1}}}`;
    expect(expectSound(inner)).toBe(true);
  });

  it('goes as deep as it may, and no deeper', () => {
    const nested = (depth: number): string =>
      `{"data":{},"a":${'['.repeat(depth - 1)}1${']'.repeat(depth - 1)}}`;
    expect(expectSound(nested(depthMax))).toBe(true);
    expect(scan(nested(depthMax + 1))).toBeUndefined();
    const inside = (depth: number): string =>
      `{"data":${'{"a":'.repeat(depth - 1)}1${'}'.repeat(depth - 1)}}`;
    expect(expectSound(inside(depthMax))).toBe(true);
    expect(scan(inside(depthMax + 1))).toBeUndefined();
  });

  it('finds quotes, backslashes and control characters wherever in a word they stand, and no others', () => {
    for (let length = 0; length < 13; length += 1)
      for (let at = 0; at < length; at += 1)
        for (let code = 0; code < 256; code += 1) {
          const text = Buffer.alloc(length, 'a');
          text[at] = code;
          const bytes = Buffer.concat([Buffer.from('{"data":{"x":"'), text, Buffer.from('"}}')]);
          const isTaken = one.run(scanSource(bytes), 0, bytes.length, depthMax);
          if (isTaken !== (code >= 0x20 && code !== 0x22 && code !== 0x5c))
            expect({ length, at, code, isTaken }).toBeUndefined();
          if (isTaken && one.isAscii !== code < 0x80)
            expect({ length, at, code, isAscii: one.isAscii }).toBeUndefined();
        }
  });

  it('takes no object that ends before or behind the end of its bytes', () => {
    const bytes = Buffer.from(' {"data":{"x":"y"},"a":[1]}  ');
    const ends = Array.from({ length: bytes.length + 1 }, (_, end) => end);
    const sound = ends.filter((end) => one.run(scanSource(bytes), 0, end, depthMax));
    expect(sound).toEqual([bytes.length - 2, bytes.length - 1, bytes.length]);
    expect(one.run(scanSource(bytes), 2, bytes.length, depthMax)).toBe(false);
  });

  it('keeps nothing of an object when it is asked for the next (P9)', () => {
    const many = `{"data":{"x":1},${Array.from({ length: 3000 }, (_, at) => `"m${at}":0`).join(',')}}`;
    expect(expectSound(many)).toBe(true);
    expect(expectSound('{"b":1,"data":{}}')).toBe(true);
    expect(expectSound('{"event":"\u0065","data":{"x":2},"data":{}}')).toBe(true);
  });
});
