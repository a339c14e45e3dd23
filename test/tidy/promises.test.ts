import { describe, expect, it } from 'vitest';
import { listFiles, readText } from './source-tree.ts';

/** Promises whose capability is not built yet, with the room that will hold them. */
const notBuiltYet: Readonly<Record<string, string>> = {
  P8: 'relocation of roots',
};

const tests = listFiles('test').filter(
  (path) => path.endsWith('.ts') && !path.startsWith('test/tidy/'),
);
const titles = tests.flatMap((file) =>
  [
    ...readText(file).matchAll(
      /\b(?:it|test|describe|name)(?:\.\w+)?(?:\(|:)\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g,
    ),
  ].map((match) => ({
    file,
    title: match[2] ?? '',
  })),
);

describe('promises', () => {
  for (const promise of Array.from({ length: 12 }, (_, at) => `P${at + 1}`)) {
    it(`${promise} is named by a test that guards it, or is not built yet`, () => {
      const guards = titles.filter(({ title }) => new RegExp(`\\b${promise}\\b`).test(title));
      if (promise in notBuiltYet) expect(guards, `take ${promise} out of notBuiltYet`).toEqual([]);
      else expect(guards.length, `no test names ${promise} in its title`).toBeGreaterThan(0);
    });
  }

  it('has a row of tests for each promise that is built, and each file of it names the promise', () => {
    const rows = [
      ...readText('docs/promises.md').matchAll(/^\| \*\*(P\d+)\*\* \| (`[^|]+) \| ([^|]+) \|$/gm),
    ];
    const built = Array.from({ length: 12 }, (_, at) => `P${at + 1}`).filter(
      (promise) => !(promise in notBuiltYet),
    );
    expect(rows.map((row) => row[1])).toEqual(built);
    const wrong = rows.flatMap(([, promise = '', cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)]
        .map((match) => match[1] ?? '')
        .filter((path) => {
          const own = titles.filter(({ file }) => file === path);
          return !own.some(({ title }) => new RegExp(`\\b${promise}\\b`).test(title));
        })
        .map((path) => `${path} does not name ${promise} in a title`),
    );
    expect(wrong).toEqual([]);
  });

  it('has no two tests of one name in a file', () => {
    const seen = new Map<string, number>();
    for (const file of tests.filter((path) => path.endsWith('.test.ts'))) {
      for (const match of readText(file).matchAll(/^\s*it\(\s*(['"])((?:\\.|(?!\1)[^\\])*)\1/gm)) {
        const name = `${file}: ${match[2]}`;
        seen.set(name, (seen.get(name) ?? 0) + 1);
      }
    }
    expect([...seen].filter(([, count]) => count > 1).map(([name]) => name)).toEqual([]);
  });

  it('has no test that is switched off or alone', () => {
    const off = tests.filter((file) =>
      /\b(?:it|describe|test)\.(?:only|skip|todo)\(/.test(readText(file)),
    );
    expect(off, 'a skipped suite is named and counted by a runner, never silent').toEqual([]);
  });
});
