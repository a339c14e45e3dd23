import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { positionAt } from '../support/graph-fixtures.ts';
import { testKey } from '../support/queue-fixtures.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { seededChance } from '../support/chance.ts';
import { permit } from '../contract/graph/harness.ts';
import { openTestGraph } from './embedded-harness.ts';
import { openInProcessGraph } from './in-process-graph.ts';
import { killGroup } from './kill-child.ts';

const rounds = 6;
const child = join(import.meta.dirname, 'kill-child.ts');

/** Lets the child acknowledge some groups, kills it somewhere behind the last of them, and returns the numbers that it printed. */
async function applyUntilKilled(path: string, first: number, count: number): Promise<number[]> {
  const running = spawn(process.execPath, [child, path, String(first)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  running.stdout.setEncoding('utf8');
  running.stdout.on('data', (text: string) => {
    printed += text;
    if (printed.split('\n').length > count) running.kill('SIGKILL');
  });
  await once(running, 'close');
  expect(running.signalCode).toBe('SIGKILL');
  return printed.split('\n').slice(0, -1).map(Number);
}

/** Number of the last group of which anything is in the file; all of it must be. */
async function lastGroup(path: string): Promise<number> {
  const graph = await openTestGraph(path);
  const rows = await graph.armKeys(
    permit,
    ['a', 'b', 'c'].map((session) => testKey(session)),
  );
  const { nodes, edges, digest } = await graph.digest();
  await graph.close();
  const groups = (nodes - 3) / 30;
  expect(Number.isInteger(groups)).toBe(true);
  expect(edges).toBe(groups * 30);
  for (const row of rows.values()) expect(row?.position).toBe(positionAt(groups * 10));
  const undisturbed = openInProcessGraph();
  for (let number = 0; number < groups; number += 1) undisturbed.apply(killGroup(number));
  expect(digest).toBe(undisturbed.digest());
  undisturbed.close();
  return groups - 1;
}

describe('a killed graph', () => {
  it('has every group that was acknowledged, none in part, and the digest of a run that was never killed (P1, P3)', async () => {
    await withTemporaryDirectory(async (folder) => {
      const path = join(folder, 'graph.db');
      const chance = seededChance(11);
      let next = 0;
      for (let round = 0; round < rounds; round += 1) {
        const acknowledged = await applyUntilKilled(path, next, 1 + Math.floor(chance.float() * 8));
        expect(acknowledged[0]).toBe(next);
        const last = await lastGroup(path);
        expect(last).toBeGreaterThanOrEqual(acknowledged.at(-1) ?? -1);
        expect(last - (acknowledged.at(-1) ?? 0)).toBeLessThanOrEqual(1);
        next = last + 1;
      }
      const database = new DatabaseSync(path, { readOnly: true });
      expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
      database.close();
    });
  });
});
