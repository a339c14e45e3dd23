import type { RootDatabase } from 'lmdb';
import { describe, expect, it } from 'vitest';
import { seal } from '../../src/state/seal.ts';
import { walkState, type Walk } from '../../src/state/walk-state.ts';

const mark = seal(Buffer.from('\0guard'), Buffer.from('{"v":1}'));

interface Shape {
  readonly names?: readonly string[];
  readonly keys?: readonly string[];
  readonly entryCount?: number;
  readonly mark?: Buffer;
}

/** A store as its library shows it, with one table of these keys. */
function storeOf({
  names = ['row\0'],
  keys = ['a', 'b'],
  entryCount = keys.length,
  mark: at = mark,
}: Shape) {
  const entries = keys.map((key) => ({
    key: Buffer.from(key),
    value: seal(Buffer.from(key), Buffer.from('{"v":1}')),
  }));
  return {
    getKeys: () => ['\0format', '\0guard', ...names].map((name) => Buffer.from(name)),
    get: () => at,
    openDB: () => ({
      getRange: ({ limit }: { readonly limit: number }) => entries.slice(0, limit),
      getStats: () => ({ entryCount }),
    }),
  } as unknown as RootDatabase<Buffer, Buffer>;
}

function faultOf(shape: Shape, most?: number): string | undefined {
  const walk: Walk = { fault: undefined };
  for (const entry of walkState(storeOf(shape), walk, most)) void entry;
  return walk.fault;
}

describe('a walk over a state store', () => {
  it('finds nothing wrong in one that is well', () => {
    expect(faultOf({})).toBeUndefined();
    expect(faultOf({ keys: [] })).toBeUndefined();
    expect(faultOf({ keys: ['a', 'b', 'c'] }, 2)).toBeUndefined();
  });

  it.each([
    ['keys that are not in order', { keys: ['b', 'a'] }, 'row is out of order'],
    ['a key that stands there twice', { keys: ['a', 'a'] }, 'row is out of order'],
    ['entries that no page leads to', { entryCount: 3 }, 'row holds 2 entries in place of 3'],
    ['a table by another name', { names: ['rov\0'] }, 'it holds a name that is none of ours'],
    [
      'a damaged guard mark',
      { mark: Buffer.from([2, 0, 0, 0, 0, 1]) },
      'its guard mark is damaged',
    ],
  ])('tells %s (P7)', (_, shape, fault) => {
    expect(faultOf(shape)).toBe(fault);
  });
});
