import { describe, expect, it } from 'vitest';
import { memoryHarness } from '../../queue-backends/memory/memory-harness.ts';
import { checkGroups } from '../queue/checks.ts';
import type { QueueCheck } from '../queue/harness.ts';
import { bindQueue } from './bind-queue.ts';
import { brokenAppends } from './broken-appends.ts';
import { brokenKeepings } from './broken-keepings.ts';
import { spoiled } from './broken-queue.ts';

const brokenQueues = [...brokenAppends, ...brokenKeepings];
const checks: readonly QueueCheck[] = Object.values(checkGroups).flat();

async function runOn(
  check: QueueCheck,
  ...harnessOf: Parameters<typeof memoryHarness>
): Promise<void> {
  const harness = await memoryHarness(...harnessOf);
  try {
    await check.run(harness);
  } finally {
    await harness.dispose();
  }
}

function checkNamed(beginning: string): QueueCheck {
  const [check, ...more] = checks.filter(({ name }) => name.startsWith(beginning));
  expect(more, `one check begins with: ${beginning}`).toEqual([]);
  if (check === undefined) throw new Error(`no check begins with: ${beginning}`);
  return check;
}

describe('the queue suite', () => {
  it.each(brokenQueues)('finds that $defect', async (broken) => {
    const memory = new Map<string, unknown>();
    const check = checkNamed(broken.foundBy);
    const run = runOn(check, (queue) => spoiled(queue, broken, memory));
    await expect(run).rejects.toThrow();
    await expect(runOn(check, bindQueue)).resolves.toBeUndefined();
  });

  it('names each of its checks once', () => {
    const names = checks.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('has a broken queue for every promise that a queue keeps', () => {
    const broken = brokenQueues.map(({ defect }) => defect).join(' ');
    for (const promise of ['P1', 'P2', 'P3', 'P4', 'P6', 'P7', 'P9', 'P10'])
      expect(broken).toMatch(new RegExp(`\\b${promise}\\b`));
  });
});
