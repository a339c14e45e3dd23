import { describe, expect, it } from 'vitest';
import { listFiles, readText, withoutComments } from '../tidy/source-tree.ts';

const sources = listFiles('src/drain').filter((path) => path.endsWith('.ts'));

function filesWith(pattern: RegExp): readonly string[] {
  return sources.filter((path) => pattern.test(withoutComments(readText(path))));
}

describe('the drain in its source', () => {
  it('reads the queue in one place, where every failure meets the same answer (ING-406)', () => {
    expect(filesWith(/queue\.readBatch\(/)).toEqual(['src/drain/worker/read-batch.ts']);
  });

  it('switches on the disposition in one place (D15, ING-024)', () => {
    expect(filesWith(/switch \(/)).toEqual(['src/drain/worker/after-failure.ts']);
  });

  it('applies to the graph in one place, and commits in one (ING-415)', () => {
    expect(filesWith(/graph\.apply\(/)).toEqual(['src/drain/group-applier.ts']);
    expect(filesWith(/queue\.(commit|deadLetter)\(/)).toEqual(['src/drain/worker/deliver.ts']);
  });
});
