import { describe, expect, it } from 'vitest';
import { listFiles, readText } from './source-tree.ts';

/** Built from pieces, so that this file does not find itself. */
const foreign = [
  ['/', 'work', '/'],
  ['/', 'root', '/.'],
  ['registry', '.npmjs', '.org'],
  ['.', 'library'],
].map((parts) => parts.join(''));

describe('product alone', () => {
  it('speaks of no machine path and no registry host', () => {
    const wrong = listFiles('.')
      .filter((path) => !path.startsWith('test/data/'))
      .filter((path) => /\.(ts|js|json|md|ya?ml)$|\.ci\/run$/.test(path))
      .flatMap((path) => {
        const text = readText(path);
        return foreign.filter((word) => text.includes(word)).map((word) => `${path}: ${word}`);
      });
    expect(wrong).toEqual([]);
  });
});
