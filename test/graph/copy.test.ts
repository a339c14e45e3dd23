import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { copyGraph, type CopyTargetGraph } from '#graph';
import { openCopySource, openCopyTarget } from '#graph/embedded';
import { codeOf, permit } from '../contract/graph/harness.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { copyParts } from './copy-parts.ts';
import { openTestGraph } from './embedded-harness.ts';

const silent = (): void => undefined;

/** Copies with pages of two rows, and is interrupted before page `stop`. */
async function copyUntil(from: string, to: string, stop = Infinity): Promise<number> {
  const source = openCopySource(from, 2);
  const target = openCopyTarget(to);
  let pages = 0;
  const interrupted: CopyTargetGraph = {
    progress: () => target.progress(),
    begin: (progress) => target.begin(progress),
    write: (page, progress) => {
      pages += 1;
      if (pages > stop) throw new Error('interrupted');
      return target.write(page, progress);
    },
    digest: () => target.digest(),
    finish: (identity, mark) => target.finish(identity, mark),
    close: () => target.close(),
  };
  try {
    await copyGraph(source, interrupted, silent);
  } catch (error) {
    if ((error as Error).message !== 'interrupted') throw error;
  } finally {
    await source.close();
    await target.close();
  }
  return pages;
}

describe('a copy of a graph', () => {
  it('has digest, id, rows and hidden facts of what was copied, wherever it was interrupted (ING-542, D26)', () =>
    withTemporaryDirectory(async (folder) => {
      const from = join(folder, 'graph.db');
      const { before, after } = copyParts();
      const original = await openTestGraph(from);
      await original.apply(permit, before);
      const expected = await original.digest();
      const pages = await copyUntil(from, join(folder, 'whole.db'));
      expect(pages).toBeGreaterThan(8);
      const copies = ['whole.db'];
      for (const stop of [0, 3, 7, pages - 1]) {
        const name = `copy-${stop}.db`;
        await copyUntil(from, join(folder, name), stop);
        await copyUntil(from, join(folder, name));
        copies.push(name);
      }
      await original.apply(permit, after);
      const expectedLater = await original.digest();
      for (const name of copies) {
        const copy = await openTestGraph(join(folder, name));
        expect([copy.graphId, copy.spillBytes], name).toEqual([
          original.graphId,
          original.spillBytes,
        ]);
        expect(await copy.digest(), name).toEqual(expected);
        await copy.apply(permit, before);
        expect(await copy.digest(), name).toEqual(expected);
        await copy.apply(permit, after);
        expect(await copy.digest(), name).toEqual(expectedLater);
        await copy.close();
      }
      await original.close();
    }));

  it('begins anew when something was applied to the source between two tries', () =>
    withTemporaryDirectory(async (folder) => {
      const [from, to] = [join(folder, 'graph.db'), join(folder, 'copy.db')];
      const { before, after } = copyParts();
      const original = await openTestGraph(from);
      await original.apply(permit, before);
      const pages = await copyUntil(from, to, 3);
      await original.apply(permit, after);
      expect(await copyUntil(from, to)).toBeGreaterThan(pages);
      const copy = await openTestGraph(to);
      expect(await copy.digest()).toEqual(await original.digest());
      await copy.close();
      await original.close();
    }));

  it('is none while its digest is another', () =>
    withTemporaryDirectory(async (folder) => {
      const from = join(folder, 'graph.db');
      const original = await openTestGraph(from);
      await original.apply(permit, copyParts().before);
      await original.close();
      const source = openCopySource(from);
      const target = openCopyTarget(join(folder, 'copy.db'));
      const damaging: CopyTargetGraph = {
        progress: () => target.progress(),
        begin: (progress) => target.begin(progress),
        write: (page, progress) =>
          progress.phase === 'edges' ? Promise.resolve() : target.write(page, progress),
        digest: () => target.digest(),
        finish: () => Promise.reject(new Error('it was finished')),
        close: () => target.close(),
      };
      expect(await codeOf(copyGraph(source, damaging, silent))).toBe('GRAPH_COPY_FAILED');
      await source.close();
      await target.close();
    }));
});
