import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { locateJsonFault } from '#ingest';

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

describe('locateJsonFault', () => {
  it.each([
    ['', 0, 'too early'],
    ['{"a":1', 6, 'too early'],
    ['{"a" 1}', 5, 'colon'],
    ['{"a":1,}', 7, 'name'],
    ['[1,]', 3, 'value'],
    ['[1 2]', 3, 'comma'],
    ['{"a":"b\n"}', 7, 'control character'],
    ['{"a":"\\x"}', 6, 'escape'],
    ['"abc', 4, 'not closed'],
    ['\uFEFF{}', 0, 'byte order mark'],
    ['{}\n{}', 3, 'follows'],
    ['01', 1, 'follows'],
    ['nul', 0, 'value'],
    ['[}', 1, 'value'],
    ['{]', 1, 'name'],
  ])('says of %j where it goes wrong and why', (text, at, words) => {
    const fault = locateJsonFault(text);
    expect(fault?.at).toBe(at);
    expect(fault?.reason).toContain(words);
  });

  it('finds a fault exactly where JSON.parse refuses', () => {
    const pieces = fc.constantFrom(
      ...'{ } [ ] , : " . \\ \u0000 \u2028 \uFEFF \u00a0 \n \t é 0 1 -'.split(' '),
      ' ',
      ...'"a"|"\\u00e9"|-1.5e3|true|null|fals'.split('|'),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join('');
        expect(locateJsonFault(text) === undefined).toBe(isJson(text));
      }),
      { numRuns: 3000 },
    );
  });

  it('agrees on valid JSON that lost, gained or changed one character', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.string({ maxLength: 1 }), (json, place, mark) => {
        const at = place % (json.length + 1);
        for (const text of [
          json,
          json.slice(0, at) + mark + json.slice(at),
          json.slice(0, at) + mark + json.slice(at + 1),
        ])
          expect(locateJsonFault(text) === undefined).toBe(isJson(text));
      }),
      { numRuns: 1000 },
    );
  });

  it('does not overflow on any nesting', () => {
    expect(locateJsonFault('['.repeat(1_000_000))?.reason).toContain('too early');
  });
});
