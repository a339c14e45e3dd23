import { describe, expect, it } from 'vitest';
import { atomicReplace, platformCode, stagingNames, type Disk, type DiskFile } from '#disk';
import { seededChance } from '../support/chance.ts';

type WithDisk = (use: (disk: Disk, path: string) => Promise<void>) => Promise<void>;

const bytes = (text: string): Uint8Array => Buffer.from(text);

async function textOf(disk: Disk, path: string): Promise<string | undefined> {
  const content = await disk.readFile(path);
  return content === undefined ? undefined : Buffer.from(content).toString();
}

async function put(disk: Disk, path: string, text: string): Promise<void> {
  await using(disk.open(path, 'write'), (file) => file.writeAt([bytes(text)], 0));
}

async function using<T>(
  opening: Promise<DiskFile>,
  use: (file: DiskFile) => Promise<T>,
): Promise<T> {
  const file = await opening;
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** What every disk does, whoever it wraps. */
export function describeDisk(name: string, withDisk: WithDisk): void {
  describe(`${name} as a disk`, () => {
    it('reads back what was written, at every offset, with zeros in the gaps', () =>
      withDisk((disk, path) =>
        using(disk.open(`${path}/file`, 'write'), async (file) => {
          await file.writeAt([bytes('abc'), bytes('def')], 4);
          await file.writeAt([bytes('XY')], 6);
          const into = new Uint8Array(20);
          expect(await file.readAt(into, 0)).toBe(10);
          expect(Buffer.from(into.subarray(0, 10)).toString()).toBe('\0\0\0\0abXYef');
          expect(await file.readAt(into, 8)).toBe(2);
          expect(await file.readAt(into, 10)).toBe(0);
          expect(await file.readAt(into, 99)).toBe(0);
          expect(await file.size()).toBe(10);
        }),
      ));

    it('cuts and extends by truncate', () =>
      withDisk((disk, path) =>
        using(disk.open(`${path}/file`, 'write'), async (file) => {
          await file.writeAt([bytes('abcdef')], 0);
          await file.truncate(2);
          await file.truncate(4);
          expect(await textOf(disk, `${path}/file`)).toBe('ab\0\0');
        }),
      ));

    it('opens by the three modes as they say (ING-231)', () =>
      withDisk(async (disk, path) => {
        const file = `${path}/file`;
        await expect(disk.open(file, 'read')).rejects.toMatchObject({ code: 'ENOENT' });
        await (await disk.open(file, 'create')).close();
        await expect(disk.open(file, 'create')).rejects.toMatchObject({ code: 'EEXIST' });
        await put(disk, file, 'kept');
        await (await disk.open(file, 'write')).close();
        expect(await textOf(disk, file)).toBe('kept');
        await using(disk.open(file, 'read'), async (reader) => {
          await expect(reader.writeAt([bytes('x')], 0)).rejects.toMatchObject({ code: 'EBADF' });
          expect(await reader.readAt(new Uint8Array(9), 0)).toBe(4);
        });
      }));

    it('answers absence with a value', () =>
      withDisk(async (disk, path) => {
        expect(await disk.stat(`${path}/none`)).toBeUndefined();
        expect(await disk.readFile(`${path}/none`)).toBeUndefined();
        expect(await disk.readDirectory(`${path}/none`)).toEqual([]);
        const failing = [
          disk.unlink(`${path}/none`),
          disk.rename(`${path}/none`, `${path}/other`),
          disk.open(`${path}/none/file`, 'write'),
          disk.syncDirectory(`${path}/none`),
        ];
        const codes = await Promise.all(failing.map((call) => call.catch(platformCode)));
        expect(codes).toEqual(['ENOENT', 'ENOENT', 'ENOENT', 'ENOENT']);
      }));

    it('lists the entries of a folder in order', () =>
      withDisk(async (disk, path) => {
        await disk.makeDirectory(`${path}/d/deep/er`);
        await disk.makeDirectory(`${path}/d/deep`);
        await put(disk, `${path}/d/z`, '');
        await put(disk, `${path}/d/a`, '');
        expect(await disk.readDirectory(`${path}/d`)).toEqual([
          { name: 'a', kind: 'file' },
          { name: 'deep', kind: 'directory' },
          { name: 'z', kind: 'file' },
        ]);
      }));

    it('renames over an existing file and keeps the identity of the moved one', () =>
      withDisk(async (disk, path) => {
        await put(disk, `${path}/new`, 'new');
        await put(disk, `${path}/old`, 'old');
        const moved = await disk.stat(`${path}/new`);
        await disk.rename(`${path}/new`, `${path}/old`);
        await disk.syncDirectory(path);
        expect(await textOf(disk, `${path}/old`)).toBe('new');
        const after = await disk.stat(`${path}/old`);
        expect([after?.device, after?.inode]).toEqual([moved?.device, moved?.inode]);
        expect(await disk.stat(`${path}/new`)).toBeUndefined();
      }));

    it('moves a folder with all that is in it', () =>
      withDisk(async (disk, path) => {
        await disk.makeDirectory(`${path}/from/inner`);
        await put(disk, `${path}/from/inner/file`, 'here');
        await disk.rename(`${path}/from`, `${path}/to`);
        expect(await textOf(disk, `${path}/to/inner/file`)).toBe('here');
      }));

    it('keeps an open file readable after its name is gone, and makes a new one beside it', () =>
      withDisk(async (disk, path) => {
        await put(disk, `${path}/file`, 'first');
        await using(disk.open(`${path}/file`, 'read'), async (file) => {
          await disk.unlink(`${path}/file`);
          expect(await disk.stat(`${path}/file`)).toBeUndefined();
          await put(disk, `${path}/file`, 'second');
          const into = new Uint8Array(5);
          expect(await file.readAt(into, 0)).toBe(5);
          expect(Buffer.from(into).toString()).toBe('first');
        });
        expect(await textOf(disk, `${path}/file`)).toBe('second');
      }));

    it('takes many writes of one file at once', () =>
      withDisk((disk, path) =>
        using(disk.open(`${path}/file`, 'write'), async (file) => {
          const writes = Array.from({ length: 64 }, (_, at) =>
            file.writeAt([Uint8Array.of(at), Uint8Array.of(at)], at * 2),
          );
          await Promise.all([...writes, file.sync()]);
          const content = await disk.readFile(`${path}/file`);
          expect([...(content ?? [])]).toEqual(Array.from({ length: 128 }, (_, at) => at >> 1));
        }),
      ));

    it('replaces a file whole, and leaves no staging file (ING-230)', () =>
      withDisk(async (disk, path) => {
        const names = stagingNames(4711, seededChance(1));
        for (const text of ['one', 'a longer second', '']) {
          await atomicReplace(disk, `${path}/record`, bytes(text), names);
          expect(await textOf(disk, `${path}/record`)).toBe(text);
        }
        const replaced = Array.from({ length: 20 }, (_, at) =>
          atomicReplace(disk, `${path}/record`, bytes(`${at}`.repeat(5000)), names),
        );
        await Promise.all(replaced);
        expect(await textOf(disk, `${path}/record`)).toMatch(/^(\d+)\1{4999}$/);
        expect((await disk.readDirectory(path)).map((entry) => entry.name)).toEqual(['record']);
      }));
  });
}
