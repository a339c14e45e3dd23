import { constants, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { chmod, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeDurableDirectory, nodeDisk, platformCode } from '#disk';
import { nodeFile } from '../../src/disk/node-file.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { describeDisk } from './describe-disk.ts';

describeDisk('nodeDisk', (use) => withTemporaryDirectory((path) => use(nodeDisk(), path)));

describe('nodeDisk', () => {
  it('makes files and folders for their owner alone', () =>
    withTemporaryDirectory(async (path) => {
      const disk = nodeDisk();
      await disk.makeDirectory(join(path, 'a/b'));
      await (await disk.open(join(path, 'a/b/file'), 'write')).close();
      await (await disk.open(join(path, 'a/b/new'), 'create')).close();
      const modes = ['a', 'a/b', 'a/b/file', 'a/b/new'].map(
        async (name) => (await stat(join(path, name))).mode & 0o777,
      );
      expect(await Promise.all(modes)).toEqual([0o700, 0o700, 0o600, 0o600]);
      expect((await disk.stat(join(path, 'a/b')))?.mode).toBe(0o700);
    }));

  it.runIf(process.platform === 'linux')(
    'ends where a folder that is there takes none',
    async () => {
      await expect(nodeDisk().makeDirectory('/proc/millrace/below')).rejects.toMatchObject({
        code: 'ENOENT',
      });
    },
  );

  it('makes a folder that others make at the same time', () =>
    withTemporaryDirectory(async (path) => {
      const names = Array.from({ length: 20 }, (_, at) => join(path, 'a/b/c', String(at % 2)));
      await Promise.all(names.map((name) => nodeDisk().makeDirectory(name)));
      expect(readdirSync(join(path, 'a/b/c'))).toEqual(['0', '1']);
    }));

  it('names an entry that is neither file nor folder as other', () =>
    withTemporaryDirectory(async (path) => {
      await symlink('nowhere', join(path, 'link'));
      expect(await nodeDisk().readDirectory(path)).toEqual([{ name: 'link', kind: 'other' }]);
    }));

  it('passes failures on with the code of the platform', () =>
    withTemporaryDirectory(async (path) => {
      const disk = nodeDisk();
      await (await disk.open(join(path, 'file'), 'write')).close();
      for (const failing of [
        disk.readDirectory(join(path, 'file')),
        disk.stat(join(path, 'file/below')),
        disk.makeDirectory(join(path, 'file/below')),
      ]) {
        await expect(failing).rejects.toMatchObject({ code: 'ENOTDIR' });
      }
    }));

  it('tells the space that is left', () =>
    withTemporaryDirectory(async (path) => {
      const { freeBytes, totalBytes } = await nodeDisk().space(path);
      expect(freeBytes).toBeGreaterThan(0);
      expect(totalBytes).toBeGreaterThanOrEqual(freeBytes);
    }));

  it('makes missing folders one by one and keeps the mode of those that are there', () =>
    withTemporaryDirectory(async (path) => {
      const disk = nodeDisk();
      await disk.makeDirectory(join(path, 'kept'));
      await chmod(join(path, 'kept'), 0o750);
      await makeDurableDirectory(disk, join(path, 'kept/x/y'), path);
      await makeDurableDirectory(disk, join(path, 'kept/x/y'), path);
      expect((await disk.stat(join(path, 'kept')))?.mode).toBe(0o750);
      expect((await disk.stat(join(path, 'kept/x/y')))?.kind).toBe('directory');
    }));
});

/** Open flags of a descriptor of this process, if it is of a file in this folder. */
function flagsOf(folder: string, fd: string): readonly number[] {
  try {
    if (!readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder)) return [];
    const text = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
    return [Number.parseInt(text ?? '0', 8)];
  } catch {
    // The descriptor of this very look is closed by now.
    return [];
  }
}

describe('nodeFile', () => {
  /** A write call that takes at most `most` bytes each time. */
  const stingy = (taken: Uint8Array[], most: number) => {
    return (
      _fd: number,
      buffers: readonly Uint8Array[],
      offset: number,
      done: (error: Error | null, written: number) => void,
    ): void => {
      const part = Buffer.concat(buffers).subarray(0, most);
      taken.push(Uint8Array.from([offset, ...part]));
      queueMicrotask(() => done(null, part.length));
    };
  };

  it('carries a short write on from where it stopped', async () => {
    const taken: Uint8Array[] = [];
    const file = nodeFile('short', -1, stingy(taken, 3));
    const empty = new Uint8Array(0);
    await file.writeAt([Uint8Array.of(1, 2), empty, Uint8Array.of(3, 4, 5, 6, 7), empty], 10);
    expect(taken.map((part) => [...part])).toEqual([
      [10, 1, 2, 3],
      [13, 4, 5, 6],
      [16, 7],
    ]);
  });

  it('rejects a write of which the disk takes nothing, and never reports it as done', async () => {
    const file = nodeFile('stuck', -1, stingy([], 0));
    await expect(file.writeAt([Uint8Array.of(1)], 0)).rejects.toMatchObject({ code: 'EIO' });
  });

  it('writes durably in one call, under whatever name the file has by then (P1)', () =>
    withTemporaryDirectory(async (path) => {
      const disk = nodeDisk();
      const file = await disk.open(join(path, 'old'), 'create');
      await file.writeAt([Buffer.alloc(8, '.')], 0);
      await disk.rename(join(path, 'old'), join(path, 'new'));
      await disk.open(join(path, 'old'), 'create').then((other) => other.close());
      await file.writeDurablyAt?.([Buffer.from('ab'), Buffer.from('c')], 2);
      await file.writeDurablyAt?.([Buffer.from('d')], 5);
      const flags = readdirSync('/proc/self/fd').flatMap((fd) => flagsOf(path, fd));
      expect(flags.filter((one) => (one & constants.O_DSYNC) !== 0)).toHaveLength(1);
      await file.close();
      expect(readdirSync('/proc/self/fd').flatMap((fd) => flagsOf(path, fd))).toEqual([]);
      expect(String(await disk.readFile(join(path, 'new')))).toBe('..abcd..');
      expect(String(await disk.readFile(join(path, 'old')))).toBe('');
    }));

  it('writes and syncs in two calls where the file cannot be opened once more', async () => {
    const taken: Uint8Array[] = [];
    const file = nodeFile('gone', 99_999, stingy(taken, 9));
    await expect(file.writeDurablyAt?.([Uint8Array.of(1)], 0)).rejects.toMatchObject({
      code: 'EBADF',
    });
    expect(taken).toHaveLength(1);
  });

  it('writes more buffers than one system call takes', () =>
    withTemporaryDirectory(async (path) => {
      const disk = nodeDisk();
      const file = await disk.open(join(path, 'many'), 'write');
      const buffers = Array.from({ length: 3000 }, (_, at) => Uint8Array.of(at & 0xff, at >> 8));
      await file.writeAt(buffers, 0);
      await file.close();
      expect(await disk.readFile(join(path, 'many'))).toEqual(Buffer.concat(buffers));
    }));

  it('lets calls in flight end before it closes, and refuses all later ones', () =>
    withTemporaryDirectory(async (path) => {
      const file = await nodeDisk().open(join(path, 'file'), 'write');
      const written = file.writeAt([new Uint8Array(1 << 20).fill(7)], 0);
      const closed = file.close();
      await Promise.all([written, closed, file.close()]);
      const late = [
        file.writeAt([Uint8Array.of(1)], 0),
        file.readAt(new Uint8Array(1), 0),
        file.sync(),
        file.truncate(0),
        file.size(),
      ];
      const codes = await Promise.all(late.map((call) => call.catch(platformCode)));
      expect(codes).toEqual(Array.from({ length: 5 }, () => 'EBADF'));
      expect((await nodeDisk().stat(join(path, 'file')))?.size).toBe(1 << 20);
    }));

  it('closes only after a write in flight has ended', () =>
    withTemporaryDirectory(async (path) => {
      const events: string[] = [];
      let finish = (): void => undefined;
      const file = nodeFile(join(path, 'file'), openSync(join(path, 'file'), 'w'), (...call) => {
        finish = () => call[3](null, 1);
      });
      const written = file.writeAt([Uint8Array.of(1)], 0).then(() => events.push('written'));
      const closed = file.close().then(() => events.push('closed'));
      await stat(path);
      expect(events).toEqual([]);
      finish();
      await Promise.all([written, closed]);
      expect(events).toEqual(['written', 'closed']);
    }));

  it('never writes into the file that got the number of a closed one', () =>
    withTemporaryDirectory(async (path) => {
      const disk = nodeDisk();
      const first = await disk.open(join(path, 'first'), 'write');
      await first.close();
      const second = await disk.open(join(path, 'second'), 'write');
      await expect(first.writeAt([Uint8Array.of(1)], 0)).rejects.toMatchObject({ code: 'EBADF' });
      expect(await second.size()).toBe(0);
      await second.close();
    }));
});
