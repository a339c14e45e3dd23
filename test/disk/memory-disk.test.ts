import { describe, expect, it } from 'vitest';
import {
  atomicReplace,
  isSpoilable,
  makeDurableDirectory,
  memoryDisk,
  stagingNames,
  type MemoryDisk,
  type PowerLoss,
} from '#disk';
import { seededChance } from '../support/chance.ts';
import { describeDisk } from './describe-disk.ts';
import { treeOf, writeSynced, writeUnsynced } from './tree.ts';

const lost: PowerLoss = {
  bytes: 'lost',
  entries: 'lost',
  failedSyncs: 'lost',
  chance: seededChance(1),
};
const kept: PowerLoss = { ...lost, bytes: 'kept', entries: 'kept' };

const diskWithData = (): MemoryDisk => memoryDisk({ directories: ['/data'] });

/** `/data/file` with durable content and a durable name. */
async function diskWithFile(text: string): Promise<MemoryDisk> {
  const disk = diskWithData();
  await writeSynced(disk, '/data/file', text);
  await disk.syncDirectory('/data');
  return disk;
}

/** All outcomes that some seeds of a torn loss give. */
async function outcomes(disk: MemoryDisk, loss: Partial<PowerLoss>): Promise<Set<string>> {
  const seen = new Set<string>();
  for (let seed = 0; seed < 400; seed += 1) {
    const after = disk.afterPowerLoss({ ...lost, ...loss, chance: seededChance(seed) });
    seen.add(JSON.stringify(await treeOf(after, '/data')));
  }
  return seen;
}

describeDisk('memoryDisk', async (use) => {
  const disk = diskWithData();
  await use(disk, '/data');
  expect(disk.openPaths()).toEqual([]);
});

describe('memoryDisk', () => {
  it('loses bytes that were not synced, and keeps those that were (P1)', async () => {
    const disk = await diskWithFile('synced');
    await writeUnsynced(disk, '/data/file', 'UNSYNCED');
    expect(await treeOf(disk, '/data')).toEqual({ '/data/file': 'UNSYNCED' });
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual({ '/data/file': 'synced' });
    expect(await treeOf(disk.afterPowerLoss(kept), '/data')).toEqual({ '/data/file': 'UNSYNCED' });
  });

  it('loses a synced file whose name was not synced', async () => {
    const disk = diskWithData();
    await writeSynced(disk, '/data/file', 'synced');
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual({});
    await disk.syncDirectory('/data');
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual({ '/data/file': 'synced' });
  });

  it('keeps a name without the bytes that were not synced', async () => {
    const disk = diskWithData();
    await writeUnsynced(disk, '/data/file', 'bytes');
    await disk.syncDirectory('/data');
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual({ '/data/file': '' });
  });

  it('loses a folder, with all that is in it, whose entry was not synced', async () => {
    const disk = diskWithData();
    await disk.makeDirectory('/data/new');
    await writeSynced(disk, '/data/new/file', 'synced');
    await disk.syncDirectory('/data/new');
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual({});
    await makeDurableDirectory(disk, '/data/new', '/data');
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual({
      '/data/new/': '',
      '/data/new/file': 'synced',
    });
  });

  it('undoes a rename and a deletion that were not synced', async () => {
    const disk = await diskWithFile('old');
    await writeSynced(disk, '/data/new', 'new');
    await disk.syncDirectory('/data');
    await disk.rename('/data/new', '/data/file');
    const before = { '/data/file': 'old', '/data/new': 'new' };
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual(before);
    expect(await outcomes(disk, { entries: 'mixed' })).toEqual(
      new Set([JSON.stringify(before), JSON.stringify({ '/data/file': 'new' })]),
    );
    await disk.syncDirectory('/data');
    await disk.unlink('/data/file');
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual({ '/data/file': 'new' });
  });

  it('may keep a file under both names when it moved between folders', async () => {
    const disk = await diskWithFile('moved');
    await disk.makeDirectory('/data/other');
    await disk.syncDirectory('/data');
    await disk.rename('/data/file', '/data/other/file');
    await disk.syncDirectory('/data/other');
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual({
      '/data/file': 'moved',
      '/data/other/': '',
      '/data/other/file': 'moved',
    });
  });

  it('keeps later entries without earlier ones when it mixes', async () => {
    const disk = diskWithData();
    await writeSynced(disk, '/data/a', '');
    await writeSynced(disk, '/data/b', '');
    const all = [[], ['a'], ['b'], ['a', 'b']].map((names) =>
      JSON.stringify(Object.fromEntries(names.map((name) => [`/data/${name}`, '']))),
    );
    expect(await outcomes(disk, { entries: 'mixed' })).toEqual(new Set(all));
  });

  it('tears writes at sectors of 512 bytes, and keeps later ones without earlier ones', async () => {
    const disk = await diskWithFile('.'.repeat(1024));
    await writeUnsynced(disk, '/data/file', 'A'.repeat(712), 100);
    await writeUnsynced(disk, '/data/file', 'B'.repeat(200), 812);
    const seen = await outcomes(disk, { bytes: 'torn' });
    const contents = [...seen].map((tree) => JSON.parse(tree)['/data/file'] as string);
    const parts = contents.map((text) => {
      const pieces = [
        text.slice(0, 100),
        text.slice(100, 512),
        text.slice(512, 812),
        text.slice(812, 1012),
      ];
      for (const piece of pieces) expect(piece).toBe(piece.charAt(0).repeat(piece.length));
      return pieces.map((piece) => piece.charAt(0)).join('');
    });
    expect(new Set(parts)).toEqual(
      new Set(['....', '.A..', '..A.', '...B', '.AA.', '.A.B', '..AB', '.AAB']),
    );
  });

  it('may leave a size without its bytes', async () => {
    const disk = await diskWithFile('');
    await writeUnsynced(disk, '/data/file', 'bytes');
    expect(await outcomes(disk, { bytes: 'torn' })).toEqual(
      new Set(['', 'bytes', '\0\0\0\0\0'].map((text) => JSON.stringify({ '/data/file': text }))),
    );
  });

  it('undoes a cut that was not synced', async () => {
    const disk = await diskWithFile('long text');
    const file = await disk.open('/data/file', 'write');
    await file.truncate(4);
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual({ '/data/file': 'long text' });
    await file.sync();
    await file.close();
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual({ '/data/file': 'long' });
  });

  it('covers by a sync only what was written when the sync began', async () => {
    const disk = await diskWithFile('');
    const file = await disk.open('/data/file', 'write');
    await file.writeAt([Buffer.from('before')], 0);
    await Promise.all([file.writeAt([Buffer.from('during')], 6), file.sync()]);
    await file.close();
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual({ '/data/file': 'before' });
  });

  it('covers by the sync of a folder only the entries that were there when it began', async () => {
    const disk = await diskWithFile('x');
    await Promise.all([disk.unlink('/data/file'), disk.syncDirectory('/data')]);
    expect(await treeOf(disk, '/data')).toEqual({});
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual({ '/data/file': 'x' });
  });

  it('reads the buffers of a write after the call, so that reuse is found out', async () => {
    const disk = await diskWithFile('');
    const file = await disk.open('/data/file', 'write');
    const buffer = Buffer.from('right');
    const written = file.writeAt([buffer], 0);
    buffer.fill('!');
    await written;
    await file.close();
    expect(await treeOf(disk, '/data')).toEqual({ '/data/file': '!!!!!' });
  });

  it.each([
    ['lost', { '/data/file': '\0\0\0\0\0\0later' }],
    ['kept', { '/data/file': 'failedlater' }],
  ] as const)(
    'never makes bytes certain by a later sync once their sync failed (%s)',
    async (failedSyncs, tree) => {
      const disk = memoryDisk({ directories: ['/data'], failedSyncs });
      const file = await disk.open('/data/file', 'write');
      await disk.syncDirectory('/data');
      await file.writeAt([Buffer.from('failed')], 0);
      if (isSpoilable(file)) file.failSync();
      await file.writeAt([Buffer.from('later')], 6);
      await file.sync();
      await file.close();
      expect(await treeOf(disk, '/data')).toEqual({ '/data/file': 'failedlater' });
      expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual(tree);
    },
  );

  it('finds the old record or the new one after any loss during an atomic replacement', async () => {
    const disk = await diskWithFile('old');
    const names = stagingNames(1, seededChance(9));
    await atomicReplace(disk, '/data/file', Buffer.from('new'), names);
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual({ '/data/file': 'new' });
  });

  it('is full at its size, and frees what is cut or deleted', async () => {
    const disk = memoryDisk({ totalBytes: 100 });
    await writeUnsynced(disk, '/a', 'x'.repeat(60));
    await expect(writeUnsynced(disk, '/b', 'x'.repeat(41))).rejects.toMatchObject({
      code: 'ENOSPC',
    });
    expect(await disk.space('/')).toEqual({ freeBytes: 40, totalBytes: 100 });
    await disk.unlink('/a');
    await writeUnsynced(disk, '/b', 'x'.repeat(100));
    expect((await disk.space('/')).freeBytes).toBe(0);
  });

  it('copies itself whole, and neither copy sees what the other does', async () => {
    const disk = await diskWithFile('synced');
    await writeUnsynced(disk, '/data/file', 'UNSYNCED');
    const copy = disk.copy();
    await writeSynced(disk, '/data/file', 'original');
    expect(await treeOf(copy, '/data')).toEqual({ '/data/file': 'UNSYNCED' });
    expect(await treeOf(copy.afterPowerLoss(lost), '/data')).toEqual({ '/data/file': 'synced' });
    await writeSynced(copy, '/data/file', 'the copy');
    expect(await treeOf(disk.afterPowerLoss(lost), '/data')).toEqual({ '/data/file': 'original' });
  });

  it('names the files that are still open', async () => {
    const disk = await diskWithFile('x');
    const file = await disk.open('/data/file', 'read');
    expect(disk.openPaths()).toEqual(['/data/file']);
    await file.close();
    expect(disk.openPaths()).toEqual([]);
  });

  it('refuses moves that no file system makes', async () => {
    const disk = await diskWithFile('x');
    await disk.makeDirectory('/data/full/below');
    const moves: [from: string, to: string, code: string][] = [
      ['/data/full', '/data/full/below/again', 'EINVAL'],
      ['/data/file', '/data/full', 'EISDIR'],
      ['/data/full', '/data/file', 'ENOTDIR'],
    ];
    for (const [from, to, code] of moves)
      await expect(disk.rename(from, to)).rejects.toMatchObject({ code });
  });
});
