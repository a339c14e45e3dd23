import { describe, expect, it } from 'vitest';
import { listFiles, readText } from './source-tree.ts';

/** Steps that every daemon passes: test/e2e/failpoints.test.ts kills at each of them, whatever it is called. */
const passedByEach = /^(journal|segment|checkpoint|recovery|drain|compaction|finalise):/;

const names = listFiles('src', 'queue-backends')
  .filter((path) => path.endsWith('.ts') && !path.startsWith('src/disk/'))
  .flatMap((path) =>
    [...readText(path).matchAll(/\bfailpoint\('([^']+)'\)/g)].map((match) => match[1] ?? ''),
  );
const tests = listFiles('test')
  .filter((path) => path.endsWith('.ts') && !path.startsWith('test/tidy/'))
  .map(readText)
  .join('\n');

describe('failpoints', () => {
  it('have a test each that fails or dies there, so that none is forgotten (ING-020)', () => {
    const forgotten = names.filter((name) => !passedByEach.test(name) && !tests.includes(name));
    expect(forgotten, 'kill something at it, or name it in a test').toEqual([]);
  });

  it('have a name each', () => {
    expect(new Set(names).size).toBe(names.length);
  });
});
