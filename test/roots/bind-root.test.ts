import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemChance, systemClock } from '#base';
import { nodeDisk, stagingNames } from '#disk';
import {
  bindRoot,
  writeDaemonFile,
  type BindOptions,
  type BoundRoot,
  type ChosenRoot,
} from '#roots';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const options: BindOptions = {
  disk: nodeDisk(),
  clock: systemClock,
  chance: systemChance,
  names: stagingNames(process.pid, systemChance),
  keyEncoding: 'plain',
};

function bind(
  path: string,
  source: ChosenRoot['source'] = 'cli',
  more?: Partial<BindOptions>,
): Promise<BoundRoot> {
  return bindRoot({ path, source }, { ...options, ...more });
}

function refusal(code: string): unknown {
  return expect.objectContaining({ code });
}

describe('binding a root', () => {
  it('makes a missing root, parents included, its owner’s alone, and keeps its id over binds', async () => {
    await withTemporaryDirectory(async (folder) => {
      const path = join(folder, 'deep', 'root');
      const first = await bind(path);
      expect(first.isNew).toBe(true);
      expect((await stat(path)).mode & 0o777).toBe(0o700);
      expect((await stat(join(path, 'root.json'))).mode & 0o777).toBe(0o600);
      first.lock.release();
      const second = await bind(path);
      expect(second.isNew).toBe(false);
      expect(second.marker).toEqual(first.marker);
      expect(second.marker.storageRootId).toMatch(/^SR-[0-9a-f]{32}$/);
      expect(second.marker.isLab).toBe(false);
      second.lock.release();
    });
  });

  it('closes an empty folder that it was told to take', async () => {
    await withTemporaryDirectory(async (folder) => {
      const path = join(folder, 'root');
      await mkdir(path, { mode: 0o755 });
      (await bind(path)).lock.release();
      expect((await stat(path)).mode & 0o777).toBe(0o700);
    });
  });

  it('refuses a folder of somebody else and writes nothing into it', async () => {
    await withTemporaryDirectory(async (folder) => {
      await writeFile(join(folder, 'thesis.txt'), 'mine');
      await expect(bind(folder)).rejects.toEqual(refusal('ROOT_FOREIGN'));
      expect(await readdir(folder)).toEqual(['thesis.txt']);
      await expect(bind(join(folder, 'thesis.txt'))).rejects.toEqual(refusal('ROOT_INVALID'));
    });
  });

  it('says of a root whose marker is lost how to put it back, and sends nobody elsewhere (P7)', async () => {
    await withTemporaryDirectory(async (folder) => {
      (await bind(folder)).lock.release();
      await rm(join(folder, 'root.json'));
      await expect(bind(folder)).rejects.toMatchObject({
        code: 'ROOT_INVALID',
        message: expect.stringContaining('root.json is missing') as unknown,
      });
      await writeFile(join(folder, 'manifest.json'), '{}');
      await expect(bind(folder)).rejects.toEqual(refusal('ROOT_FOREIGN'));
    });
  });

  it('makes nothing where the environment names a root that is not there (ROOT-39)', async () => {
    await withTemporaryDirectory(async (folder) => {
      const path = join(folder, 'unmounted');
      await expect(bind(path, 'env')).rejects.toEqual(refusal('ROOT_MISSING'));
      expect(await readdir(folder)).toEqual([]);
      (await bind(path)).lock.release();
      (await bind(path, 'env')).lock.release();
    });
  });

  it('refuses a path that can be no folder, and says why', async () => {
    await withTemporaryDirectory(async (folder) => {
      await writeFile(join(folder, 'file'), '');
      await expect(bind(join(folder, 'file', 'root'))).rejects.toMatchObject({
        code: 'ROOT_INVALID',
        message: expect.stringContaining('a part of its path is a file') as unknown,
      });
    });
  });

  it('refuses a root that others can read (ING-235)', async () => {
    await withTemporaryDirectory(async (folder) => {
      (await bind(folder)).lock.release();
      await chmod(folder, 0o750);
      await expect(bind(folder)).rejects.toEqual(refusal('ROOT_PERMISSIONS'));
    });
  });

  it('refuses a marker that is newer, damaged or not active, and leaves it as it is', async () => {
    await withTemporaryDirectory(async (folder) => {
      (await bind(folder)).lock.release();
      const marker = join(folder, 'root.json');
      const good = JSON.parse(await readFile(marker, 'utf8')) as Record<string, unknown>;
      for (const [changed, code] of [
        [JSON.stringify({ ...good, format: 2 }), 'FORMAT_TOO_NEW'],
        [JSON.stringify({ ...good, layout_version: 7 }), 'FORMAT_TOO_NEW'],
        [JSON.stringify({ ...good, state: 'retired' }), 'ROOT_UNREADABLE'],
        [JSON.stringify({ ...good, storage_root_id: '../x' }), 'ROOT_UNREADABLE'],
        ['', 'ROOT_UNREADABLE'],
        ['[]', 'ROOT_UNREADABLE'],
        ['{"format":1', 'ROOT_UNREADABLE'],
      ] as const) {
        await writeFile(marker, changed);
        await expect(bind(folder), changed).rejects.toEqual(refusal(code));
        expect(await readFile(marker, 'utf8')).toBe(changed);
      }
      await writeFile(marker, JSON.stringify({ ...good, lab: true, of_the_future: 1 }));
      const bound = await bind(folder);
      expect(bound.marker.isLab).toBe(true);
      bound.lock.release();
    });
  });

  it('refuses plain keys where upper and lower case are one (ING-112)', async () => {
    await withTemporaryDirectory(async (folder) => {
      const disk = {
        ...options.disk,
        stat: (path: string) => options.disk.stat(path.replace(/ROOT\.JSON$/, 'root.json')),
      };
      await expect(bind(folder, 'cli', { disk })).rejects.toEqual(refusal('FS_CASE_INSENSITIVE'));
    });
    await withTemporaryDirectory(async (folder) => {
      const disk = {
        ...options.disk,
        stat: (path: string) => options.disk.stat(path.replace(/ROOT\.JSON$/, 'root.json')),
      };
      (await bind(folder, 'cli', { disk, keyEncoding: 'hashed' })).lock.release();
    });
  });

  it('keeps the encoding of session folders that the root was made with (ING-112)', async () => {
    await withTemporaryDirectory(async (folder) => {
      (await bind(folder, 'cli', { keyEncoding: 'hashed' })).lock.release();
      await expect(bind(folder)).rejects.toEqual(refusal('ROOT_INVALID'));
      (await bind(folder, 'cli', { keyEncoding: 'hashed' })).lock.release();
    });
  });

  it('takes up a start that ended before its marker', async () => {
    await withTemporaryDirectory(async (folder) => {
      await mkdir(join(folder, '.maintenance'));
      await writeFile(join(folder, '.maintenance', 'root.lock'), '', { mode: 0o600 });
      await writeFile(join(folder, 'root.json.12-0123456789abcdef-1.tmp'), '{"form');
      const bound = await bind(folder);
      expect(bound.isNew).toBe(true);
      bound.lock.release();
    });
  });

  it('refuses a second holder in one line that names the first (ROOT-101)', async () => {
    await withTemporaryDirectory(async (folder) => {
      const bound = await bind(folder);
      await expect(bind(folder)).rejects.toEqual(refusal('ROOT_LOCKED'));
      const hint = { url: 'http://127.0.0.1:7117', pid: 4711, started: '2026-01-01T00:00:00.000Z' };
      await writeDaemonFile(options.disk, bound.layout.daemonFile, hint, options.names);
      const refused = await bind(folder).catch((error: unknown) => String(error));
      expect(refused).toContain('http://127.0.0.1:7117 (pid 4711)');
      expect(refused).not.toContain('\n');
      expect(await bound.lock.stillHeld()).toBe(true);
      bound.lock.release();
    });
  });

  it('binds at once when the process that held it ended without a release (D7)', async () => {
    await withTemporaryDirectory(async (folder) => {
      (await bind(folder)).lock.release();
      const holder = `
        import { bindRoot } from '#roots';
        import { systemChance as chance, systemClock as clock } from '#base';
        import { nodeDisk, stagingNames } from '#disk';
        await bindRoot({ path: ${JSON.stringify(folder)}, source: 'cli' },
          { disk: nodeDisk(), clock, chance, names: stagingNames(process.pid, chance), keyEncoding: 'plain' });
        console.log('held');`;
      const ran = execFileSync(process.execPath, ['--input-type=module', '--eval', holder], {
        cwd: join(import.meta.dirname, '../..'),
        encoding: 'utf8',
      });
      expect(ran.trim()).toBe('held');
      (await bind(folder)).lock.release();
    });
  });
});
