import { describe, expect, it } from 'vitest';
import { planPass, type RetainedItem, type RetentionRule } from '#keeping';

const nowMs = 1_000_000;
const item = (name: string, atMs: number, bytes: number): RetainedItem => ({ name, atMs, bytes });
const items = [item('a', 100, 10), item('b', 200, 20), item('c', 300, 30), item('d', 900_000, 40)];
const look = { bytes: 100, items, hasMore: false };
const rule = (maxAgeMs: number | null, maxBytes: number | null): RetentionRule => ({
  maxAgeMs,
  maxBytes,
});

interface Changes {
  readonly refused?: readonly string[];
  readonly limit?: number;
  readonly untilMs?: number;
}

async function namesOf(
  given: RetentionRule,
  { refused = [], limit = 100, untilMs = nowMs }: Changes = {},
): Promise<{ going: readonly string[]; kept: readonly string[]; hasMore: boolean }> {
  const { going, kept, hasMore } = await planPass(look, given, {
    inspect: async ({ name, bytes = 0 }) =>
      refused.includes(name) ? { bytes: 0, refused: 'WAITS' } : { bytes },
    nowMs,
    untilMs,
    limit,
  });
  return {
    going: going.map(({ item: { name }, why }) => `${name} ${why}`),
    kept: kept.map(({ name }) => name),
    hasMore,
  };
}

describe('what goes by a rule', () => {
  it.each([
    ['nothing without one', rule(null, null), []],
    ['nothing that is young enough', rule(nowMs, null), []],
    ['what is too old, oldest first', rule(nowMs - 250, null), ['a age', 'b age']],
    ['as many of the oldest as are too many bytes', rule(null, 75), ['a size', 'b size']],
    ['not one more than that', rule(null, 70), ['a size', 'b size']],
    ['all of it where nothing may stay', rule(null, 0), ['a size', 'b size', 'c size', 'd size']],
    ['by the one, and then by the other', rule(nowMs - 150, 45), ['a age', 'b size', 'c size']],
    ['nothing where the size is just reached', rule(null, 100), []],
  ])('%s', async (_, given, going) => {
    expect(await namesOf(given)).toEqual({ going, kept: [], hasMore: false });
  });

  it('passes over what may not go, and takes the next in its place for a size', async () => {
    expect(await namesOf(rule(null, 75), { refused: ['a', 'b'] })).toEqual({
      going: ['c size'],
      kept: ['a', 'b'],
      hasMore: false,
    });
    expect((await namesOf(rule(nowMs - 250, null), { refused: ['a'] })).going).toEqual(['b age']);
  });

  it('stops at its limit and says that there is more', async () => {
    expect(await namesOf(rule(null, 0), { limit: 2 })).toEqual({
      going: ['a size', 'b size'],
      kept: [],
      hasMore: true,
    });
  });

  it('names what goes later, where it is asked for that', async () => {
    const soon = await namesOf(rule(nowMs, null), { untilMs: nowMs + 250 });
    expect(soon.going).toEqual(['a age', 'b age']);
  });
});
