import { describe, expect, it } from 'vitest';
import { openFilesMax, nodeDisk } from '#disk';
import { graphWalBytes, planOpenFiles } from '../../src/daemon/settings.ts';

describe('open files', () => {
  it('are planned so that connections and session logs leave the journal its own (P9, QFS-15)', () => {
    for (const most of [64, 90, 256, 1024, 20_000, 1_048_576]) {
      const { connectionsMax, logHandlesMax } = planOpenFiles(most, null);
      expect(connectionsMax).toBeGreaterThanOrEqual(8);
      expect(logHandlesMax).toBeGreaterThanOrEqual(4);
      expect(logHandlesMax).toBeLessThanOrEqual(256);
      expect(connectionsMax + logHandlesMax).toBeLessThanOrEqual(Math.max(12, most / 2));
    }
    expect(planOpenFiles(undefined, null)).toEqual(planOpenFiles(1024, null));
    expect(planOpenFiles(1024, 7).connectionsMax).toBe(7);
  });

  it('have a limit that the platform tells, or none is told', async () => {
    expect((await openFilesMax(nodeDisk())) ?? 1).toBeGreaterThan(0);
    const told = Buffer.from('Max processes 5 5\nMax open files            90   4096  files \n');
    expect(await openFilesMax({ readFile: () => Promise.resolve(told) })).toBe(90);
    expect(await openFilesMax({ readFile: () => Promise.resolve(undefined) })).toBeUndefined();
  });
});

describe("the graph's write-ahead log", () => {
  it('is short on a small file system and 16 MiB on any other (QFS-30)', () => {
    expect(graphWalBytes(40 * 2 ** 20)).toBeLessThan(2 ** 20);
    expect(graphWalBytes(2 ** 40)).toBe(16 * 2 ** 20);
  });
});
