import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openTokenStore, type TokenStore } from '#access';
import type { MillraceError } from '#base';
import { memoryDisk, nodeDisk, stagingNames, type Disk } from '#disk';
import { seededChance } from '../support/chance.ts';
import { fakeClock, type FakeClock } from '../support/clock.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

interface Bench {
  readonly store: TokenStore;
  readonly clock: FakeClock;
  readonly disk: Disk;
  readonly path: string;
  readonly reopen: () => Promise<TokenStore>;
}

async function withStore(
  use: (bench: Bench) => Promise<void>,
  wrap: (disk: Disk) => Disk = (disk) => disk,
): Promise<void> {
  const disk = wrap(memoryDisk({ directories: ['/root'] }));
  const clock = fakeClock();
  const chance = seededChance(7);
  const path = '/root/tokens.json';
  const open = (): Promise<TokenStore> =>
    openTokenStore({ disk, path, names: stagingNames(1, chance), clock, chance });
  await use({ store: await open(), clock, disk, path, reopen: open });
}

const agents = { name: 'agents', scopes: ['ingest:write'], workspaces: ['w1', 'w2'] };

async function codeOf(act: () => Promise<unknown>): Promise<string> {
  try {
    await act();
  } catch (error) {
    return (error as MillraceError).code;
  }
  return 'none';
}

/** A disk whose named call fails while `isBroken` says so. */
function breakable(
  call: 'open' | 'rename' | 'syncDirectory',
  isBroken: () => boolean,
): (disk: Disk) => Disk {
  return (disk) => ({
    ...disk,
    [call]: (...args: never[]) =>
      isBroken()
        ? Promise.reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }))
        : (disk[call] as (...args: never[]) => Promise<unknown>)(...args),
  });
}

describe('token store', () => {
  it('shows a secret once and keeps only its SHA-256', async () => {
    await withStore(async ({ store, disk, path }) => {
      const { token, view } = await store.add(agents);
      expect(token).toMatch(/^mrt_[A-Za-z0-9_-]{43}$/);
      expect(view).toMatchObject({ name: 'agents', scopes: ['ingest:write'] });
      const text = Buffer.from((await disk.readFile(path)) ?? []).toString('utf8');
      expect(text).not.toContain(token);
      expect(text).not.toContain(token.slice(4));
      expect(JSON.stringify(await store.list())).not.toContain(token.slice(4));
    });
  });

  it('recognises a token at once and after a reopen, with its scopes and workspaces', async () => {
    await withStore(async ({ store, clock, reopen }) => {
      const { token } = await store.add(agents);
      for (const opened of [store, await reopen()]) {
        const { principal } = opened.recognise(token, clock.now());
        expect(principal?.name).toBe('agents');
        expect([...(principal?.scopes ?? [])]).toEqual(['ingest:write']);
        expect(principal?.workspaces).toEqual(['w1', 'w2']);
      }
      expect(store.recognise(`${token}x`, clock.now())).toEqual({ refusal: 'unknown' });
    });
  });

  it('refuses a token from its expiry on, and still counts it', async () => {
    await withStore(async ({ store, clock }) => {
      const expiresAt = new Date(clock.now() + 60_000).toISOString();
      const { token } = await store.add({ ...agents, expiresAt });
      await clock.advance(59_999);
      expect(store.recognise(token, clock.now()).refusal).toBeUndefined();
      await clock.advance(1);
      expect(store.recognise(token, clock.now())).toEqual({ refusal: 'expired' });
      expect(store.count()).toBe(1);
    });
  });

  it('refuses a revoked token without a restart and after one', async () => {
    await withStore(async ({ store, clock, reopen }) => {
      const { token } = await store.add(agents);
      expect(await store.revoke('agents')).toBe(true);
      expect(store.recognise(token, clock.now())).toEqual({ refusal: 'unknown' });
      expect((await reopen()).recognise(token, clock.now())).toEqual({ refusal: 'unknown' });
      expect(await store.revoke('agents')).toBe(false);
    });
  });

  it('keeps every one of many changes made at once', async () => {
    await withStore(async ({ store, reopen }) => {
      const names = Array.from({ length: 20 }, (_, at) => `t${at}`);
      await Promise.all(names.map((name) => store.add({ name, scopes: ['ops:read'] })));
      await Promise.all(names.slice(0, 5).map((name) => store.revoke(name)));
      const left = (await (await reopen()).list()).map(({ name }) => name);
      expect(left.toSorted()).toEqual(names.slice(5).toSorted());
    });
  });

  it.each([
    ['an empty name', { ...agents, name: '' }],
    ['a name with a line break', { ...agents, name: 'a\nb' }],
    ['the name of senders without a token', { ...agents, name: 'local' }],
    ['a scope that is none', { ...agents, scopes: ['ingest:all'] }],
    ['no scope', { ...agents, scopes: [] }],
    ['no workspace', { ...agents, workspaces: [] }],
    ['an expiry that is no time', { ...agents, expiresAt: 'soon' }],
    ['an expiry in the past', { ...agents, expiresAt: '2001-01-01' }],
  ])('refuses %s', async (_, token) => {
    await withStore(async ({ store }) => {
      expect(await codeOf(() => store.add(token))).toBe('TOKEN_INVALID');
      expect(store.count()).toBe(0);
    });
  });

  it('refuses a second token of one name', async () => {
    await withStore(async ({ store }) => {
      await store.add(agents);
      expect(await codeOf(() => store.add(agents))).toBe('TOKEN_EXISTS');
    });
  });

  it.each([
    ['cut off', '{"v":1,"tokens":[{"name":"a"'],
    ['not an object', '[]'],
    ['empty', ''],
    ['without a version', '{"tokens":[]}'],
    ['with a token that lacks its hash', '{"v":1,"tokens":[{"name":"a","scopes":["ops:read"]}]}'],
  ])('refuses to open a file that is %s, and keeps its tokens while it runs', async (_, text) => {
    await withStore(async ({ store, clock, disk, path, reopen }) => {
      const { token } = await store.add(agents);
      await overwrite(disk, path, text);
      expect(await codeOf(() => store.reload())).toBe('TOKENS_FILE_CORRUPT');
      expect(await codeOf(() => store.add({ ...agents, name: 'b' }))).toBe('TOKENS_FILE_CORRUPT');
      expect(await codeOf(() => store.revoke('agents'))).toBe('TOKENS_FILE_CORRUPT');
      expect(store.recognise(token, clock.now()).principal?.name).toBe('agents');
      expect(await codeOf(reopen)).toBe('TOKENS_FILE_CORRUPT');
      expect(Buffer.from((await disk.readFile(path)) ?? []).toString('utf8')).toBe(text);
    });
  });

  it('refuses a file of a newer version by name', async () => {
    await withStore(async ({ disk, path, reopen }) => {
      await overwrite(disk, path, '{"v":2,"tokens":[]}');
      expect(await codeOf(reopen)).toBe('FORMAT_TOO_NEW');
    });
  });

  it('changes nothing when the disk refuses', async () => {
    let isBroken = false;
    await withStore(
      async ({ store, clock, reopen }) => {
        const { token } = await store.add(agents);
        isBroken = true;
        expect(await codeOf(() => store.add({ ...agents, name: 'b' }))).toBe('TOKENS_FILE_FAILED');
        expect(await codeOf(() => store.revoke('agents'))).toBe('TOKENS_FILE_FAILED');
        isBroken = false;
        expect(store.recognise(token, clock.now()).principal?.name).toBe('agents');
        expect((await (await reopen()).list()).map(({ name }) => name)).toEqual(['agents']);
      },
      breakable('rename', () => isBroken),
    );
  });

  it('takes a revocation that reached the disk although its last step failed', async () => {
    let isBroken = false;
    await withStore(
      async ({ store, clock }) => {
        const { token } = await store.add(agents);
        isBroken = true;
        expect(await codeOf(() => store.revoke('agents'))).toBe('TOKENS_FILE_FAILED');
        isBroken = false;
        expect(await store.revoke('agents')).toBe(false);
        expect(store.recognise(token, clock.now())).toEqual({ refusal: 'unknown' });
      },
      breakable('syncDirectory', () => isBroken),
    );
  });

  it('keeps its file for the owner alone, and refuses one that others may write', async () => {
    await withTemporaryDirectory(async (root) => {
      const path = join(root, 'tokens.json');
      const chance = seededChance(3);
      const options = { path, names: stagingNames(1, chance), clock: fakeClock(), chance };
      const store = await openTokenStore({ ...options, disk: nodeDisk() });
      await store.add(agents);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      await chmod(path, 0o666);
      expect(await codeOf(() => openTokenStore({ ...options, disk: nodeDisk() }))).toBe(
        'TOKENS_FILE_CORRUPT',
      );
      await chmod(path, 0o600);
      await writeFile(path, (await readFile(path, 'utf8')).replace('"agents"', '"others"'));
      await store.reload();
      expect((await store.list()).map(({ name }) => name)).toEqual(['others']);
    });
  });
});

async function overwrite(disk: Disk, path: string, text: string): Promise<void> {
  const file = await disk.open(path, 'write');
  await file.truncate(0);
  await file.writeAt([Buffer.from(text)], 0);
  await file.sync();
  await file.close();
}
