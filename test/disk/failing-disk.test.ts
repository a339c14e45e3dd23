import { describe, expect, it } from 'vitest';
import {
  atomicReplace,
  failingDisk,
  memoryDisk,
  platformCode,
  stagingNames,
  type DiskFault,
} from '#disk';
import { seededChance } from '../support/chance.ts';
import { describeDisk } from './describe-disk.ts';
import { treeOf, writeSynced } from './tree.ts';

describeDisk('failingDisk without faults', async (use) => {
  const inner = memoryDisk({ directories: ['/data'] });
  const disk = failingDisk(inner);
  await use(disk, '/data');
  expect(inner.openPaths()).toEqual([]);
  expect(disk.failureCount()).toBe(0);
});

/** The code of each of some synced writes, or `done`. */
async function writeOften(faults: readonly DiskFault[], count = 5): Promise<string[]> {
  const inner = memoryDisk();
  const disk = failingDisk(inner, faults);
  const results: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const done = writeSynced(disk, `/file-${at}`, 'x').then(() => 'done');
    results.push(await done.catch((error: unknown) => platformCode(error) ?? 'none'));
  }
  return results;
}

describe('failingDisk', () => {
  it('fails the nth call of those named, once', async () => {
    expect(await writeOften([{ code: 'EIO', calls: ['sync'], nth: 3 }])).toEqual([
      'done',
      'done',
      'EIO',
      'done',
      'done',
    ]);
  });

  it('fails for ever where the fault is persistent, until it is healed', async () => {
    const disk = failingDisk(memoryDisk(), [
      { code: 'EROFS', calls: ['open'], nth: 2, times: Infinity },
    ]);
    await writeSynced(disk, '/a', 'x');
    for (let at = 0; at < 3; at += 1)
      await expect(disk.open('/b', 'write')).rejects.toMatchObject({ code: 'EROFS' });
    expect(disk.failureCount()).toBe(3);
    disk.heal();
    await writeSynced(disk, '/b', 'x');
  });

  it('fails only the paths named', async () => {
    expect(await writeOften([{ code: 'EMFILE', path: /-2$/, times: Infinity }])).toEqual([
      'done',
      'done',
      'EMFILE',
      'done',
      'done',
    ]);
  });

  it('lets a part of a write through before it fails it', async () => {
    const inner = memoryDisk();
    const disk = failingDisk(inner, [{ code: 'ENOSPC', calls: ['writeAt'], bytesBefore: 3 }]);
    const file = await disk.open('/file', 'write');
    const parts = [Buffer.from('ab'), Buffer.from('cdef')];
    await expect(file.writeAt(parts, 1)).rejects.toMatchObject({ code: 'ENOSPC' });
    await file.close();
    expect(await treeOf(inner, '/')).toEqual({ '/file': '\0abc' });
  });

  it('closes the file even where the close fails', async () => {
    const inner = memoryDisk();
    const disk = failingDisk(inner, [{ code: 'EIO', calls: ['close'] }]);
    const file = await disk.open('/file', 'write');
    await expect(file.close()).rejects.toMatchObject({ code: 'EIO' });
    expect(inner.openPaths()).toEqual([]);
  });

  it('counts calls, so that a sweep knows when it has failed them all', async () => {
    const disk = failingDisk(memoryDisk());
    await writeSynced(disk, '/file', 'x');
    expect(disk.callCount()).toBe(4);
    expect([disk.callCount('sync'), disk.callCount('rename')]).toEqual([1, 0]);
  });
});

describe('atomicReplace', () => {
  const failures = Array.from({ length: 20 }, (_, at) => at + 1);

  it.each([1, Infinity])(
    'leaves the old bytes or the new ones and no file of its own, whichever call fails (%d times) (ING-233)',
    async (times) => {
      let sweptCount = 0;
      for (const nth of failures) {
        const inner = memoryDisk();
        await writeSynced(inner, '/record', 'old');
        await writeSynced(inner, '/record.1-00000000000000aa-1.tmp', 'of another writer');
        const calls = ['open', 'writeAt', 'sync', 'close', 'rename', 'syncDirectory'] as const;
        const disk = failingDisk(inner, [{ code: 'EIO', calls, nth, times }]);
        const replaced = atomicReplace(
          disk,
          '/record',
          Buffer.from('new'),
          stagingNames(1, seededChance(1)),
        );
        const isDone = await replaced.then(
          () => true,
          (error: unknown) => {
            expect(platformCode(error)).toBe('EIO');
            return false;
          },
        );
        const tree = await treeOf(inner, '/');
        expect(Object.keys(tree)).toEqual(['/record', '/record.1-00000000000000aa-1.tmp']);
        expect(tree['/record']).toBe(isDone || nth >= 6 ? 'new' : 'old');
        expect(inner.openPaths()).toEqual([]);
        sweptCount += 1;
        if (isDone) break;
      }
      expect(sweptCount).toBe(7);
    },
  );

  it('takes a staging name that is taken for a defect, and leaves that file alone (ING-231)', async () => {
    const disk = memoryDisk();
    const names = { ...stagingNames(1, seededChance(1)), nextFor: () => '/record.tmp' };
    await writeSynced(disk, '/record.tmp', 'of another writer');
    const replaced = atomicReplace(disk, '/record', Buffer.from('new'), names);
    await expect(replaced).rejects.toThrow(/given out twice/);
    expect(await treeOf(disk, '/')).toEqual({ '/record.tmp': 'of another writer' });
  });

  it('reports the first failure even where its staging file cannot be removed', async () => {
    const disk = failingDisk(memoryDisk(), [
      { code: 'ENOSPC', calls: ['writeAt'] },
      { code: 'EROFS', calls: ['unlink'] },
    ]);
    const replaced = atomicReplace(
      disk,
      '/record',
      Buffer.from('new'),
      stagingNames(1, seededChance(1)),
    );
    await expect(replaced).rejects.toMatchObject({ code: 'ENOSPC' });
  });
});
