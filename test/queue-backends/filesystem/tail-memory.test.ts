import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  TailMemory,
  type TailLine,
} from '../../../queue-backends/filesystem/session/tail-memory.ts';

const mib = 2 ** 20;

/** Lines of one group of the journal, as parts of its buffer. */
function groupOf(bytes: number, ...lengths: readonly number[]): TailLine[] {
  const buffer = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  return lengths.map((length, number) => {
    const part = buffer.subarray(at, at + length).fill(number + 1);
    at += length;
    return { offset: number, bytes: part };
  });
}

describe('lines that wait in memory', () => {
  it('P9: one of a key that nobody drains does not hold the group in which it was written', () => {
    const memory = new TailMemory();
    const kept: TailLine[] = [];
    let most = 0;
    for (let group = 0; group < 500; group += 1) {
      const [slow, busy] = groupOf(mib, 1000, mib - 1000);
      if (slow === undefined || busy === undefined) throw new Error('there are two');
      memory.add(slow);
      memory.add(busy);
      kept.push(slow);
      memory.drop(busy);
      most = Math.max(most, memory.heldBytes);
    }
    expect(memory.bytes).toBe(500 * 1000);
    expect(most).toBeLessThanOrEqual(66 * mib);
    expect(kept.every(({ bytes }) => bytes.length === 1000 && bytes[0] === 1)).toBe(true);
    const buffers = new Set(kept.map(({ bytes }) => bytes.buffer));
    const held = [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(held, 'what it counts is what there is').toBe(memory.heldBytes);
    for (const line of kept) memory.drop(line);
    expect(memory).toMatchObject({ bytes: 0, heldBytes: 0 });
  });

  it('P9: counts what is there and changes no byte, whatever comes and goes', () => {
    const groups = fc.array(
      fc.record({
        lengths: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        drops: fc.array(fc.nat()),
      }),
      { minLength: 90, maxLength: 120 },
    );
    fc.assert(
      fc.property(groups, (all) => {
        const memory = new TailMemory();
        const there: { readonly line: TailLine; readonly before: Buffer }[] = [];
        for (const { lengths, drops } of all) {
          for (const line of groupOf(mib, ...lengths)) {
            there.push({ line, before: Buffer.from(line.bytes) });
            memory.add(line);
          }
          for (const drop of drops) {
            const [gone] = there.splice(drop % Math.max(1, there.length), 1);
            if (gone !== undefined) memory.drop(gone.line);
          }
        }
        expect(there.every(({ line, before }) => before.equals(line.bytes))).toBe(true);
        expect(memory.bytes).toBe(there.reduce((sum, { line }) => sum + line.bytes.length, 0));
        expect(memory.heldBytes).toBeLessThanOrEqual(66 * mib);
      }),
      { numRuns: 10 },
    );
  });
});
