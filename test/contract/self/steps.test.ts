import { describe, expect, it } from 'vitest';
import type { Batch } from '#queue';
import { formatPosition, type Position } from '#record';
import { openTestQueue, testKey } from '../../support/queue-fixtures.ts';
import {
  append,
  assertBalanced,
  assertBooks,
  assertChained,
  assertCode,
  isPending,
  numbered,
} from '../queue/steps.ts';

const at = (offset: number, epoch = 'e'): Position => formatPosition({ ordinal: 0, epoch, offset });
const batch = (...ends: readonly (readonly [number, number])[]): Batch => ({
  key: testKey(),
  start: at(0),
  items: ends.map(([start, end]) => ({ raw: Buffer.from('{}'), at: at(start), after: at(end) })),
});

describe('what the checks state', () => {
  it('a chain has no gap, no overlap, and goes up', () => {
    expect(() => assertChained(batch([0, 3], [3, 6]))).not.toThrow();
    expect(() => assertChained(batch([0, 3], [4, 6]))).toThrow();
    expect(() => assertChained(batch([0, 3], [2, 6]))).toThrow();
    expect(() => assertChained(batch([1, 3]))).toThrow();
    expect(() => assertChained(batch([0, 0]))).toThrow();
  });

  it('a balance has no residual and no negative count', () => {
    const even = { accepted: 6, applied: 1, pending: 2, dead: 2, discarded: 1 };
    expect(() => assertBalanced(even)).not.toThrow();
    for (const member of Object.keys(even) as (keyof typeof even)[])
      expect(() => assertBalanced({ ...even, [member]: even[member] + 1 })).toThrow();
    expect(() => assertBalanced({ ...even, applied: -1, pending: 4 })).toThrow();
  });

  it('the books of a root are the sum of its keys', async () => {
    const queue = openTestQueue();
    await append(queue, ...numbered('s', 0, 2));
    await assertBooks(queue, { accepted: 2 });
    await expect(assertBooks(queue, { accepted: 3 })).rejects.toThrow();
    const totals = { ...queue.totals(), accepted: 3, pending: 3 };
    await expect(assertBooks(Object.assign(queue, { totals: () => totals }))).rejects.toThrow();
    await queue.close();
  });

  it('a code is that code with that disposition', async () => {
    const queue = openTestQueue();
    await queue.close();
    await assertCode(queue.append(numbered('s', 0, 1)), 'DRAINING', 'retry');
    const other = assertCode(queue.append(numbered('s', 0, 1)), 'DRAINING', 'fenced');
    await expect(other).rejects.toThrow();
    await expect(assertCode(Promise.resolve(), 'DRAINING', 'retry')).rejects.toThrow();
    await expect(assertCode(Promise.reject(new Error('x')), 'X', 'retry')).rejects.toThrow();
  });

  it('a promise is open or not', async () => {
    expect(await isPending(new Promise(() => undefined))).toBe(true);
    expect(await isPending(Promise.resolve())).toBe(false);
    expect(await isPending(Promise.reject(new Error('settled too')))).toBe(false);
  });
});
