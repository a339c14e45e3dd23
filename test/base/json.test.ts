import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalJson,
  flattenWhitespace,
  isJsonObject,
  isRawNumber,
  JsonInvalid,
  parseJson,
  sliceMembers,
  stringifyJson,
  type JsonValue,
} from '#base';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('parseJson', () => {
  it('gives what JSON.parse gives for every value that a double can hold', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), (text) => {
        expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  it.each([
    '12345678901234567890',
    '-9007199254740993',
    '0.12345678901234567891',
    '1e400',
    '-1E-400',
    '1.7976931348623159e308',
    '1000000000000000000000',
  ])('keeps the text of %s, which a double would change (D30)', (text) => {
    for (const around of [text, `[${text}]`, `{"a":{"b":[1, ${text} ]}}`]) {
      expect(stringifyJson(parseJson(around))).toBe(around.replaceAll(' ', ''));
      expect(canonicalJson(parseJson(bytesOf(around)))).toBe(around.replaceAll(' ', ''));
    }
    expect(isRawNumber(parseJson(text))).toBe(true);
  });

  it('never writes back another number than it read', () => {
    const digits = fc.stringMatching(
      /^-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?$/,
    );
    fc.assert(
      fc.property(digits, (text) => {
        const written = stringifyJson(parseJson(`{"n":${text}}`)).slice(5, -1);
        expect(exactDecimal(written)).toBe(exactDecimal(text));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['1.50', 1.5],
    ['9007199254740992', 2 ** 53],
    ['3.141592653589793', Math.PI],
    ['1.0000000000000000000', 1],
    ['1e300', 1e300],
  ])('gives a plain number for %s, which a double holds', (text, value) => {
    expect(parseJson(`[${text}]`)).toEqual([value]);
  });

  it('leaves digits inside strings and names alone', () => {
    const text = '{"12345678901234567890":"12345678901234567890","sha":"94e12345"}';
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it('tells a raw number from a client object that looks like one', () => {
    const value = parseJson('{"mine":{"rawJSON":"1"},"big":12345678901234567890}');
    expect(isJsonObject(value) && isJsonObject(value['mine'])).toBe(true);
    expect(isJsonObject(value) && isJsonObject(value['big'])).toBe(false);
    expect(canonicalJson(value)).toBe('{"big":12345678901234567890,"mine":{"rawJSON":"1"}}');
  });

  it('keeps a member named __proto__ as a member', () => {
    const slow = parseJson('{"__proto__":{"a":1},"big":12345678901234567890}');
    expect(Object.keys(slow as object)).toEqual(['__proto__', 'big']);
    expect(Object.getPrototypeOf(slow)).toBe(Object.prototype);
  });

  it.each([
    ['a broken byte', Uint8Array.of(0x22, 0xff, 0x22)],
    ['an encoded surrogate', Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)],
    ['a byte order mark', bytesOf('\ufeff{}')],
    ['a trailing comma', bytesOf('[1,]')],
    ['a raw control character in a string', bytesOf('"a\nb"')],
    ['nothing', bytesOf('')],
    ['two values', bytesOf('{} {}')],
    ['a truncated object', bytesOf('{"a":')],
    ['NaN', bytesOf('NaN')],
  ])('refuses %s', (_name, bytes) => {
    expect(() => parseJson(bytes)).toThrow(JsonInvalid);
  });

  it('refuses nesting above the limit and takes nesting at it', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    expect(() => parseJson(nested(9), { depthMax: 8 })).toThrow(/deeper than 8/);
    expect(stringifyJson(parseJson(nested(8), { depthMax: 8 }))).toBe(nested(8));
    expect(() => parseJson(nested(200_000), { depthMax: 128 })).toThrow(JsonInvalid);
  });

  it('counts no bracket that stands in a string or beside another as nesting', () => {
    for (const text of ['"[[[[[[[[[["', '[[],[],[],[],[],[]]', '["\\"[[[[[["]', '"\\\\"']) {
      expect(parseJson(text, { depthMax: 2 })).toEqual(JSON.parse(text));
    }
  });
});

describe('canonicalJson', () => {
  it('gives the example of RFC 8785', () => {
    const text =
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],' +
      '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}';
    // By D30 the first number, which a double cannot hold, keeps its text instead.
    expect(canonicalJson(parseJson(text.replace('333333333.33333329', '333333333.3333333')))).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('sorts members by UTF-16 code units', () => {
    const value = parseJson(
      '{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"ö":7}',
    );
    expect(Object.values(parseJson(canonicalJson(value)) as object).length).toBe(7);
    expect(canonicalJson(value)).toBe('{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}');
  });

  it('keeps a lone surrogate as an escape, so that the text is valid UTF-8 (D30)', () => {
    const text = canonicalJson(parseJson('{"\\uD800":"x\\udfffy"}'));
    expect(text).toBe('{"\\ud800":"x\\udfffy"}');
    expect(canonicalJson(parseJson(bytesOf(text)))).toBe(text);
  });

  it('is one text per value, however members are ordered, and parses to the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (any) => {
        const value = any as JsonValue;
        const text = canonicalJson(value);
        expect(canonicalJson(reversed(value))).toBe(text);
        expect(canonicalJson(parseJson(text))).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('writes no negative zero and refuses what JSON cannot say', () => {
    expect(canonicalJson(-0)).toBe('0');
    expect(() => canonicalJson(Number.NaN)).toThrow(/no number/);
  });
});

describe('sliceMembers', () => {
  it('gives each member as JSON.parse reads it, with any white space and escapes', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' })),
        fc.constantFrom(0, 1, 3, '\t', '\r\n'),
        (object, space) => {
          const bytes = bytesOf(JSON.stringify(object, null, space));
          const read = sliceMembers(bytes).map(({ key, start, end }) => [
            key,
            parseJson(bytes.subarray(start, end)),
          ]);
          expect(Object.fromEntries(read)).toEqual(JSON.parse(JSON.stringify(object)));
        },
      ),
    );
  });

  it('finds the end of strings of every length and number of backslashes', () => {
    for (const length of [0, 1, 250, 254, 255, 256, 257, 258, 511, 512, 513, 5000]) {
      for (let slashes = 0; slashes < 4; slashes += 1) {
        const object = {
          a: `${'x'.repeat(length)}${'\\'.repeat(slashes)}`,
          b: `"${'"'.repeat(length)}`,
        };
        const bytes = bytesOf(JSON.stringify(object));
        const [a, b] = sliceMembers(bytes);
        expect(parseJson(bytes.subarray(a?.start, a?.end))).toBe(object.a);
        expect(parseJson(bytes.subarray(b?.start, b?.end))).toBe(object.b);
      }
    }
  });

  it('shows a repeated name each time', () => {
    const bytes = bytesOf(' {"a":1, "\\u0061" : [2] }\n');
    expect(
      sliceMembers(bytes).map(({ key, keyStart, start, end }) => [key, keyStart, start, end]),
    ).toEqual([
      ['a', 2, 6, 7],
      ['a', 9, 20, 23],
    ]);
  });
});

describe('flattenWhitespace', () => {
  it('keeps the value and leaves no raw line break (ING-919)', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const sent = bytesOf(JSON.stringify(value, null, 2).replaceAll('\n', '\r\n'));
        const flat = flattenWhitespace(sent);
        expect(flat.includes(0x0a) || flat.includes(0x0d)).toBe(false);
        expect(parseJson(flat)).toEqual(parseJson(sent));
      }),
    );
  });

  it('copies nothing when there is nothing to change', () => {
    const bytes = bytesOf('{"a": 1}');
    expect(flattenWhitespace(bytes)).toBe(bytes);
  });
});

function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => reversed(item));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, reversed(item)]),
  );
}

/** Sign, digits and exponent in one normal form, by integer arithmetic alone. */
function exactDecimal(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  let digits = BigInt(whole + fraction);
  let power = Number(exponent) - fraction.length;
  if (digits === 0n) return '0';
  for (; digits % 10n === 0n; power += 1) digits /= 10n;
  return `${sign}${digits}e${power}`;
}
