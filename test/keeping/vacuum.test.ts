import { describe, expect, it } from 'vitest';
import { memoryDisk } from '#disk';
import { bytesBelow, createStorageMeter, vacuum, type Compressible } from '#keeping';
import { fakeClock } from '../support/clock.ts';

async function diskWith(files: Readonly<Record<string, number>>) {
  const disk = memoryDisk({ directories: ['/root'] });
  for (const [path, bytes] of Object.entries(files)) {
    await disk.makeDirectory(path.slice(0, path.lastIndexOf('/')));
    const file = await disk.open(path, 'create');
    await file.writeAt([Buffer.alloc(bytes)], 0);
    await file.close();
  }
  return disk;
}

describe('what a root takes', () => {
  it('is the sum of all files below a folder, and nothing for one that is missing', async () => {
    const disk = await diskWith({ '/root/queue/a': 10, '/root/queue/b/c/d': 7 });
    expect(await bytesBelow(disk, '/root/queue')).toBe(17);
    expect(await bytesBelow(disk, '/root/none')).toBe(0);
  });

  it('is measured at the first look and again when that is old', async () => {
    const disk = await diskWith({ '/root/queue/a': 10 });
    const clock = fakeClock();
    const at = (name: string): string => `/root/${name}`;
    const folders = {
      queue: at('queue'),
      graph: at('graph'),
      state: at('state'),
      control: at('control'),
      objects: at('objects'),
    };
    const meter = createStorageMeter(folders, { disk, clock });
    expect(meter.look()).toBeUndefined();
    await expect.poll(() => meter.look()?.bytes.queue).toBe(10);
    await disk.unlink('/root/queue/a');
    expect(meter.look()?.bytes.queue).toBe(10);
    await clock.advance(60_001);
    await expect.poll(() => meter.look()?.bytes.queue).toBe(0);
  });
});

describe('a vacuum', () => {
  const component = (
    name: Compressible['name'],
    isCopied: boolean,
    done: string[],
  ): Compressible => ({
    name,
    folder: `/root/${name}`,
    isCopied,
    giveBack: () => Promise.resolve(void done.push(name)),
  });

  it('takes one component after another, and none that there is no room to copy', async () => {
    const disk = await diskWith({ '/root/queue/a': 10, '/root/graph/a': 20 });
    const { freeBytes } = await disk.space('/root');
    const done: string[] = [];
    const both = [component('queue', false, done), component('graph', true, done)];
    expect(await vacuum(both, { disk, root: '/root', reserveBytes: 0 })).toEqual([
      { name: 'queue', before: 10, after: 10 },
      { name: 'graph', before: 20, after: 20 },
    ]);
    const tight = { disk, root: '/root', reserveBytes: freeBytes };
    await expect(vacuum(both, tight)).rejects.toMatchObject({ code: 'VACUUM_REFUSED' });
    expect(done).toEqual(['queue', 'graph', 'queue']);
  });
});
