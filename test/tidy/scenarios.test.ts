import { describe, expect, it } from 'vitest';
import { listFiles, readText } from './source-tree.ts';

/** The collection: a number is never taken out, only added to. */
const scenarios = [
  ...Array.from({ length: 67 }, (_, at) => `SC-${String(at + 1).padStart(3, '0')}`),
  ...Array.from({ length: 8 }, (_, at) => `U${at + 1}`),
];

const page = readText('docs/scenarios.md');
const [, tried = '', untried = ''] = page.split(/^## /m);

function rowsOf(section: string): ReadonlyMap<string, readonly string[]> {
  const rows = section
    .split('\n')
    .filter((line) => /^\| (SC-\d{3}|U\d) \|/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  return new Map(rows.map((cells) => [cells[1] ?? '', cells.slice(2, -1)]));
}

/** Text in quotes: titles, and the lists from which titles are made. */
const texts = listFiles('test')
  .filter((path) => path.endsWith('.test.ts') && !path.startsWith('test/tidy/'))
  .flatMap((path) => [...readText(path).matchAll(/(['"`])((?:\\.|(?!\1)[^\\\n])*)\1/g)])
  .map((match) => match[2] ?? '');

describe('scenarios', () => {
  const known = rowsOf(tried);
  const reasons = rowsOf(untried);

  it('have each one row: what tries it, or why nothing does', () => {
    const rows = [...known.keys(), ...reasons.keys()];
    expect(rows.toSorted()).toEqual(scenarios.toSorted());
  });

  it('name only tests that there are', () => {
    const missing = [...known].flatMap(([id, [, tests = '']]) => {
      const names = [...tests.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
      if (names.length === 0) return [`${id} names no test`];
      return names
        .filter((name) => !texts.some((text) => new RegExp(`\\b${name}\\b`).test(text)))
        .map((name) => `${id}: no test names ${name}`);
    });
    expect(missing).toEqual([]);
  });

  it('that nothing tries have a reason of some words', () => {
    for (const [id, [reason = '']] of reasons)
      expect(reason.split(' ').length, id).toBeGreaterThanOrEqual(4);
  });
});
