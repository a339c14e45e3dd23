import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readText } from '../tidy/source-tree.ts';
import { tckJars } from './tck/fetch.ts';
import passedList from './tck/passed.json' with { type: 'json' };
import { readFeatures } from './tck/read-features.ts';
import { runScenario, type Outcome } from './tck/run-scenario.ts';
import { listOf, namesOf } from './tck/scenario-list.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-tck-'));
  const [jar = ''] = readdirSync(tckJars).filter((name) => name.endsWith('.jar'));
  const ran = spawnSync('jar', ['-xf', join(tckJars, jar)], { cwd: folder, encoding: 'utf8' });
  expect(ran.status, ran.stderr).toBe(0);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the scenarios of the openCypher TCK', () => {
  it('that passed once pass, and docs/cypher.md says how many that are', () => {
    const counts: Record<Outcome, number> = { passed: 0, failed: 0, refused: 0, foreign: 0 };
    const passed: string[] = [];
    const why = new Map<string, string>();
    for (const scenario of readFeatures(join(folder, 'features'))) {
      const result = runScenario(scenario, join(folder, 'graphs'));
      counts[result.outcome] += 1;
      if (result.outcome === 'passed') passed.push(scenario.name);
      else why.set(scenario.name, `${result.outcome}: ${result.why ?? ''}`);
    }
    const listed = namesOf(passedList);
    expect(listed.length).toBeGreaterThan(2000);
    const lost = listed.filter((name) => why.has(name));
    expect(lost.map((name) => `${name} ${why.get(name)}`)).toEqual([]);
    expect(listOf(passed), 'more pass than are listed: list them').toEqual(passedList);
    const fitting = counts.passed + counts.failed + counts.refused;
    const words = [counts.passed, fitting].map((count) => count.toLocaleString('en-US'));
    expect(readText('docs/cypher.md')).toContain(`${words[0]} of the ${words[1]} scenarios`);
  });
});
