import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  link,
  mkdir,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { lockFile, type FileLock } from '#disk';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const holderScript = fileURLToPath(new URL('lock-holder.ts', import.meta.url));

async function withLock<T>(path: string, use: (lock: FileLock) => Promise<T>): Promise<T> {
  const lock = await lockFile(path);
  try {
    return await use(lock);
  } finally {
    lock.release();
  }
}

/** What another process says when it tries: `locked` or an error code. It gives up what it got. */
function tryElsewhere(path: string): string {
  const done = spawnSync(process.execPath, [holderScript, path], { input: '', encoding: 'utf8' });
  return done.stdout.trim();
}

async function withHolder<T>(path: string, use: (holder: ChildProcess) => Promise<T>): Promise<T> {
  const holder = spawn(process.execPath, [holderScript, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(holder, 'exit');
  try {
    const [said] = (await once(holder.stdout, 'data')) as [Buffer];
    expect(said.toString().trim()).toBe('locked');
    return await use(holder);
  } finally {
    holder.kill('SIGKILL');
    await exited;
  }
}

describe('lockFile', () => {
  it('refuses a second process and lets it in after the release (ROOT-101)', () =>
    withTemporaryDirectory(async (path) => {
      const file = join(path, 'root.lock');
      await withLock(file, async (lock) => {
        expect(tryElsewhere(file)).toBe('ROOT_LOCKED');
        expect(await lock.stillHeld()).toBe(true);
      });
      expect(tryElsewhere(file)).toBe('locked');
    }));

  it('names the error retry, since the holder may end', () =>
    withTemporaryDirectory((path) =>
      withHolder(join(path, 'root.lock'), async () => {
        await expect(lockFile(join(path, 'root.lock'))).rejects.toMatchObject({
          code: 'ROOT_LOCKED',
          disposition: 'retry',
        });
      }),
    ));

  it('stays with a holder that is stopped by SIGSTOP (ROOT-100)', () =>
    withTemporaryDirectory((path) =>
      withHolder(join(path, 'root.lock'), async (holder) => {
        holder.kill('SIGSTOP');
        await expect(lockFile(join(path, 'root.lock'))).rejects.toMatchObject({
          code: 'ROOT_LOCKED',
        });
        holder.kill('SIGCONT');
      }),
    ));

  it('is free at once after kill -9 of the holder (ROOT-100)', () =>
    withTemporaryDirectory(async (path) => {
      const file = join(path, 'root.lock');
      await withHolder(file, async (holder) => {
        holder.kill('SIGKILL');
        await once(holder, 'exit');
        await withLock(file, async (lock) => expect(await lock.stillHeld()).toBe(true));
      });
    }));

  it('is not kept by a child of the holder (ROOT-105)', () =>
    withTemporaryDirectory(async (path) => {
      const file = join(path, 'root.lock');
      const lock = await lockFile(file);
      const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'], {
        stdio: 'ignore',
      });
      const exited = once(child, 'exit');
      try {
        await once(child, 'spawn');
        lock.release();
        expect(tryElsewhere(file)).toBe('locked');
      } finally {
        child.kill('SIGKILL');
        await exited;
      }
    }));

  it('is refused twice in one process, under any name of the file, and survives the refusal (ROOT-104)', () =>
    withTemporaryDirectory(async (path) => {
      await mkdir(join(path, 'real'));
      const file = join(path, 'real/root.lock');
      await symlink('real', join(path, 'alias'));
      await withLock(file, async (lock) => {
        await link(file, join(path, 'hard-link'));
        for (const name of ['real/root.lock', 'alias/root.lock', 'hard-link']) {
          await expect(lockFile(join(path, name))).rejects.toMatchObject({ code: 'ROOT_LOCKED' });
        }
        expect(await lock.stillHeld()).toBe(true);
        expect(tryElsewhere(file)).toBe('ROOT_LOCKED');
      });
    }));

  it('lets one of many callers at once in', () =>
    withTemporaryDirectory(async (path) => {
      const file = join(path, 'root.lock');
      const tries = await Promise.allSettled(Array.from({ length: 8 }, () => lockFile(file)));
      const won = tries.filter((one) => one.status === 'fulfilled');
      expect(won.length).toBe(1);
      for (const { value } of won) value.release();
    }));

  it('makes an empty, owner-only file and nothing beside it (ROOT-375)', () =>
    withTemporaryDirectory(async (path) => {
      const file = join(path, 'root.lock');
      await writeFile(file, '');
      await chmod(file, 0o666);
      await withLock(file, async () => {
        const { size, mode } = await stat(file);
        expect([size, mode & 0o777]).toEqual([0, 0o600]);
        expect(await readdir(path)).toEqual(['root.lock']);
      });
      expect((await stat(file)).size).toBe(0);
    }));

  it('notices that its file is gone or exchanged (ROOT-103, ING-310)', () =>
    withTemporaryDirectory(async (path) => {
      const file = join(path, 'root.lock');
      await withLock(file, async (lock) => {
        await rename(file, join(path, 'moved'));
        expect(await lock.stillHeld()).toBe(false);
        await writeFile(file, '');
        expect(await lock.stillHeld()).toBe(false);
        await rm(file);
        await rename(join(path, 'moved'), file);
        expect(await lock.stillHeld()).toBe(true);
        lock.release();
        expect(await lock.stillHeld()).toBe(false);
      });
    }));

  it('can be taken again after the release, and released twice', () =>
    withTemporaryDirectory(async (path) => {
      const file = join(path, 'root.lock');
      const first = await lockFile(file);
      first.release();
      const second = await lockFile(file);
      first.release();
      expect(await second.stillHeld()).toBe(true);
      expect(tryElsewhere(file)).toBe('ROOT_LOCKED');
      second.release();
    }));

  it('refuses to start without a lock and never falls back to another (ROOT-106)', () =>
    withTemporaryDirectory(async (path) => {
      await writeFile(join(path, 'full'), 'not empty');
      await mkdir(join(path, 'folder'));
      for (const name of ['full', 'none/root.lock', 'folder']) {
        await expect(lockFile(join(path, name))).rejects.toMatchObject({
          code: 'LOCK_UNAVAILABLE',
          disposition: 'fatal',
        });
      }
      await rm(join(path, 'full'));
      await withLock(join(path, 'full'), async (lock) => expect(await lock.stillHeld()).toBe(true));
    }));

  it('holds on while memory is collected (ROOT-376)', () =>
    withTemporaryDirectory(async (path) => {
      const file = join(path, 'root.lock');
      const script = `
        import { spawnSync } from 'node:child_process';
        import { lockFile } from '#disk';
        await lockFile(process.argv[1]);
        for (let round = 0; round < 10; round += 1) { globalThis.gc(); await new Promise(setImmediate); }
        const other = spawnSync(process.execPath, [process.argv[2], process.argv[1]], { input: '', encoding: 'utf8' });
        process.stdout.write(other.stdout);
      `;
      const done = spawnSync(
        process.execPath,
        ['--expose-gc', '--input-type=module', '-e', script, file, holderScript],
        { encoding: 'utf8' },
      );
      expect(done.stdout.trim()).toBe('ROOT_LOCKED');
    }));
});
