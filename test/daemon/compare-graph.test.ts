import { describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import type { AppliedRow } from '#graph';
import type { BondedKey } from '#queue';
import type { Key, Position } from '#record';
import { compareGraph } from '../../src/daemon/boot/compare-graph.ts';

const rootId = 'SR-one';
const position = '00000000.00000000000010.e' as Position;
const mark = { position, sha256: 'a'.repeat(64) };
const clock = { ...systemClock, sleep: () => Promise.resolve() };

interface Counts {
  pages: number;
  keys: number;
  woken: number;
}

/** So many sessions at rest; of those in `differing` the graph has another record. */
function sidesOf(sessions: number, differing: ReadonlySet<number>) {
  const counts: Counts = { pages: 0, keys: 0, woken: 0 };
  const keys = Array.from(
    { length: sessions },
    (_, at) => `w~s-${String(at).padStart(6, '0')}` as Key,
  );
  const parts = {
    bond: {
      restoredFrom: null,
      checkpointedKeys: ({ after, limit }: { after: Key | undefined; limit: number }) => {
        const from = after === undefined ? 0 : keys.indexOf(after) + 1;
        return keys.slice(from, from + limit).map((key): BondedKey => ({ key, applied: mark }));
      },
    },
    graph: {
      rows: async (which: { readonly keys: readonly Key[] } | object) => {
        const asked = 'keys' in which ? which.keys : [];
        counts.pages += 1;
        counts.keys += asked.length;
        return new Map(
          asked.map((key): [Key, AppliedRow] => [
            key,
            { ...mark, rootId, ...(differing.has(keys.indexOf(key)) ? { sha256: 'b' } : {}) },
          ]),
        );
      },
    },
    rootId,
    clock,
    drain: {
      wake: () => {
        counts.woken += 1;
      },
    },
  };
  return { parts, counts };
}

async function ended(
  comparison: { readonly hasAgreed: boolean },
  counts: Counts,
  keys: number,
): Promise<void> {
  for (let turn = 0; turn < 10_000 && counts.keys < keys; turn += 1) await Promise.resolve();
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  void comparison;
}

describe('queue and graph compare notes', () => {
  it('looks at nothing where a stop in order left both as they are, whatever the number of sessions (ING-808)', async () => {
    const { parts, counts } = sidesOf(100_000, new Set());
    const comparison = compareGraph(parts, true);
    await ended(comparison, counts, 1);
    expect(counts).toEqual({ pages: 0, keys: 0, woken: 0 });
    expect(comparison.hasAgreed).toBe(true);
    await comparison.stop();
  });

  it('looks at each session once, a page at a time, and says that they agree (ING-541)', async () => {
    const { parts, counts } = sidesOf(1000, new Set());
    const comparison = compareGraph(parts, false);
    expect(comparison.hasAgreed).toBe(false);
    await ended(comparison, counts, 1000);
    expect(counts).toEqual({ pages: 4, keys: 1000, woken: 0 });
    expect(comparison.hasAgreed).toBe(true);
    await comparison.stop();
  });

  it('wakes those that differ, and does not call that agreed', async () => {
    const { parts, counts } = sidesOf(300, new Set([7, 299]));
    const comparison = compareGraph(parts, false);
    await ended(comparison, counts, 300);
    expect(counts.woken).toBe(2);
    expect(comparison.hasAgreed).toBe(false);
    await comparison.stop();
  });

  it('wakes no more than a thousand: a graph that was emptied makes no worker for each of 100,000 sessions (P9)', async () => {
    const { parts, counts } = sidesOf(3000, new Set(Array.from({ length: 3000 }, (_, at) => at)));
    const comparison = compareGraph(parts, false);
    await ended(comparison, counts, 3000);
    expect(counts.woken).toBe(1000);
    expect(counts.keys).toBeLessThanOrEqual(1024);
    expect(comparison.hasAgreed).toBe(false);
    await comparison.stop();
  });

  it('wait for deletions that were cut off: what the graph lacks in the midst of one is no mismatch', async () => {
    const { parts, counts } = sidesOf(10, new Set());
    const deletions = Promise.withResolvers<void>();
    const comparison = compareGraph({ ...parts, afterDeletions: deletions.promise }, false);
    await ended(comparison, { ...counts }, 1);
    expect(counts.pages).toBe(0);
    deletions.resolve();
    await ended(comparison, counts, 10);
    expect(comparison.hasAgreed).toBe(true);
    await comparison.stop();
    const stopped = compareGraph({ ...parts, afterDeletions: new Promise(() => undefined) }, false);
    await stopped.stop();
    expect(stopped.hasAgreed).toBe(false);
  });

  it('that is stopped half way has not agreed', async () => {
    const { parts } = sidesOf(1000, new Set());
    const comparison = compareGraph(
      { ...parts, clock: { ...clock, sleep: (_, signal) => systemClock.sleep(1e6, signal) } },
      false,
    );
    await comparison.stop();
    expect(comparison.hasAgreed).toBe(false);
  });
});
