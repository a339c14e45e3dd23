import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeKey, keyFilter, keyParts, parseKey, sessionNodeId } from '#record';

const id = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 });
const parts = fc.record({ workspace: id, session: id });

describe('key', () => {
  it('keeps the letters, digits, hyphens and underscores of both ids and joins them by one tilde (ING-110)', () => {
    expect(encodeKey('-home-dev-kitchen', '0f4c_1')).toBe('-home-dev-kitchen~0f4c_1');
    expect(encodeKey('a.b~c', 'x:y/z é')).toBe('a%2Eb%7Ec~x%3Ay%2Fz%20%C3%A9');
  });

  it('escapes the first letter of a plain key that looks hashed, so that the two forms cannot meet (ING-110)', () => {
    expect(encodeKey('h_x', 's')).toBe('%68_x~s');
    expect(keyParts(encodeKey('h_x', 's'))).toEqual({ workspace: 'h_x', session: 's' });
  });

  it('becomes a digest above 160 bytes, and tells no ids then', () => {
    const long = encodeKey('w', 's'.repeat(159));
    expect(long).toMatch(/^h_[0-9a-f]{64}$/);
    expect(keyParts(long)).toBeUndefined();
    expect(parseKey(long)).toBe(long);
    expect(encodeKey('w', 's'.repeat(158))).toHaveLength(160);
  });

  it('is always a digest where the file system folds case (ING-112)', () => {
    const key = encodeKey('w', 's', 'hashed');
    expect(key).toMatch(/^h_[0-9a-f]{64}$/);
    expect(key).not.toBe(encodeKey('W', 's', 'hashed'));
  });

  it('is told by its text alone from those of other ids; only a hashed one may be of any', () => {
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const key = encodeKey(a.workspace, a.session);
        const isHashed = keyParts(key) === undefined;
        expect(keyFilter(a)(key)).toBe(true);
        expect(keyFilter({})(key)).toBe(true);
        expect(keyFilter({ workspace: b.workspace })(key)).toBe(
          isHashed || a.workspace === b.workspace,
        );
        expect(keyFilter({ session: b.session })(key)).toBe(isHashed || a.session === b.session);
      }),
    );
    const looksHashed = encodeKey('h_x', 's');
    expect(keyFilter({ workspace: 'h_x' })(looksHashed)).toBe(true);
    expect(keyFilter({ workspace: 'h' })(looksHashed)).toBe(false);
  });

  it('is injective, file-safe and reversible, and never ends in a file suffix (ING-P04)', () => {
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const key = encodeKey(a.workspace, a.session);
        expect(key).toMatch(/^[A-Za-z0-9_%~-]{1,160}$/);
        const back = keyParts(key);
        if (!key.startsWith('h_')) expect(back).toEqual(a);
        const isSame = a.workspace === b.workspace && a.session === b.session;
        expect(encodeKey(b.workspace, b.session) === key).toBe(isSame);
      }),
    );
  });

  it('is injective for ids made of the marks that could forge a joint (ING-P04)', () => {
    const nasty = fc.string({
      unit: fc.constantFrom('~', '%', '.', 'h', '_', '7', 'E', '2'),
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(nasty, nasty, nasty, nasty, (w1, s1, w2, s2) => {
        const isSame = w1 === w2 && s1 === s2;
        expect(encodeKey(w1, s1) === encodeKey(w2, s2)).toBe(isSame);
      }),
      { numRuns: 2000 },
    );
  });

  it('takes no text for a key that no ids encode to', () => {
    for (const text of [
      '',
      '~',
      'a',
      'a~b~c',
      'a.b~c',
      '%7e~x',
      '%41~x',
      'h_x~y',
      '%FF~x',
      'h_12',
      'a~b/..',
    ]) {
      expect([text, parseKey(text)]).toEqual([text, undefined]);
    }
  });
});

describe('session in node ids', () => {
  it('never holds the mark that parts owner and owned, and no two sessions meet (ING-611)', () => {
    expect(sessionNodeId('0f4c-8b1d_foundation:explorer')).toBe('0f4c-8b1d_foundation:explorer');
    expect(sessionNodeId('a::b')).toBe('a:%3Ab');
    const nasty = fc.string({
      unit: fc.constantFrom(':', '%', '3', 'A', '2', '5', 'x'),
      maxLength: 8,
    });
    fc.assert(
      fc.property(nasty, nasty, (a, b) => {
        expect(sessionNodeId(a)).not.toContain('::');
        expect(sessionNodeId(a) === sessionNodeId(b)).toBe(a === b);
      }),
      { numRuns: 3000 },
    );
  });
});
