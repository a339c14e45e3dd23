import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  emptyCursor,
  fitCursor,
  parseCursor,
  readEntry,
  withEntry,
  withoutEntry,
  type Cursor,
  type CursorMap,
} from '#record';

describe('cursor', () => {
  it('reads back an empty one, and one with unknown members, which it keeps', () => {
    const stored: unknown = JSON.parse(
      JSON.stringify({
        ...emptyCursor(),
        later: { a: 1 },
        layer2: { ...emptyCursor().layer2, newer: [2] },
      }),
    );
    expect(parseCursor(JSON.parse(JSON.stringify(emptyCursor())))).toEqual({
      cursor: emptyCursor(),
    });
    expect(parseCursor(stored).cursor).toEqual(stored);
  });

  it('refuses the whole when any member of any layer is missing or wrong (ING-502)', () => {
    let tried = 0;
    const check = (path: readonly string[], wrong: unknown): void => {
      tried += 1;
      const copy = JSON.parse(JSON.stringify(emptyCursor())) as Record<
        string,
        Record<string, unknown>
      >;
      const holder = (path.length === 1 ? copy : copy[path[0] ?? '']) as Record<string, unknown>;
      if (wrong === undefined) delete holder[path.at(-1) ?? ''];
      else holder[path.at(-1) ?? ''] = wrong;
      const parsed = parseCursor(copy);
      expect([path, wrong, parsed.cursor]).toEqual([path, wrong, undefined]);
      expect(parsed.fault).toContain(path.at(-1));
    };
    for (const [name, value] of Object.entries(emptyCursor())) {
      for (const wrong of [undefined, 'x', 2]) check([name], wrong);
      if (!name.startsWith('layer')) continue;
      for (const member of Object.keys(value as object)) {
        // A member that came later may be missing in a stored cursor, and then nothing was counted yet.
        const wrongs = [-1, 0.5, { a: 1 }, [1], true, ...(member === 'begun' ? [] : [undefined])];
        for (const wrong of wrongs) check([name, member], wrong);
      }
    }
    expect(tried).toBeGreaterThan(120);
  });

  it('takes one that was stored before recipes were counted', () => {
    const stored = JSON.parse(JSON.stringify(emptyCursor())) as { layer3: { begun?: unknown } };
    delete stored.layer3.begun;
    expect(parseCursor(stored).cursor).toEqual(emptyCursor());
  });

  it('refuses what is no object', () => {
    for (const value of [undefined, null, 0, '', [], 'cursor'])
      expect(parseCursor(value).cursor).toBeUndefined();
  });
});

describe('cursor map', () => {
  const mapOf = (size: number): CursorMap<string> =>
    Object.fromEntries(
      Array.from({ length: size }, (_, at) => [`k${at}`, [at, `v${at}`] as const]),
    );

  it('evicts the oldest entries first, whatever the order of members (ING-212)', () => {
    const map = Object.fromEntries(Object.entries(mapOf(4)).reverse());
    expect(Object.keys(withEntry(map, 'new', [9, 'x'], 3)).sort()).toEqual(['k2', 'k3', 'new']);
    const numbered: CursorMap<string> = { b: [1, 'old'], 7: [2, 'new'] };
    expect(withEntry(numbered, '1', [3, 'x'], 2)).toEqual({ 1: [3, 'x'], 7: [2, 'new'] });
  });

  it('takes keys that objects inherit for what they are', () => {
    for (const key of ['__proto__', 'constructor', 'toString']) {
      expect(readEntry({}, key)).toBeUndefined();
      const map = withEntry<string>({}, key, [1, 'v']);
      expect(readEntry(map, key)).toBe('v');
      expect(readEntry(JSON.parse(JSON.stringify(map)) as CursorMap<string>, key)).toBe('v');
      expect(Object.keys(withoutEntry(map, key))).toEqual([]);
    }
  });

  it('leaves a cursor that fits as it is, the same value', () => {
    const cursor = emptyCursor();
    expect(fitCursor(cursor)).toBe(cursor);
  });

  it('cuts the oldest of the largest maps until the whole fits, and says the same for every member order (ING-212)', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 200 }),
        fc.nat({ max: 200 }),
        fc.integer({ min: 100, max: 4000 }),
        (a, b, bytesMax) => {
          const cursor: Cursor = {
            ...emptyCursor(),
            layer2: {
              ...emptyCursor().layer2,
              pending_tool_blocks: mapOf(a),
              placeholder_iterations: mapOf(b),
            },
          };
          const fitted = fitCursor(cursor, bytesMax);
          expect(fitCursor(fitted, bytesMax)).toBe(fitted);
          for (const map of [
            fitted.layer2.pending_tool_blocks,
            fitted.layer2.placeholder_iterations,
          ]) {
            const numbers = Object.values(map)
              .map(([seq]) => seq)
              .sort((x, y) => x - y);
            const size = map === fitted.layer2.pending_tool_blocks ? a : b;
            expect(numbers).toEqual(
              Array.from({ length: numbers.length }, (_, at) => size - numbers.length + at),
            );
          }
          expect(parseCursor(fitted).fault).toBeUndefined();
        },
      ),
    );
  });
});
