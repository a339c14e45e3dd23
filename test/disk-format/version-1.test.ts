import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openTokenStore } from '#access';
import { systemChance, systemClock } from '#base';
import { controlSchemaVersion, openControlDatabase } from '#control';
import { nodeDisk, stagingNames } from '#disk';
import { FencePermit } from '#fence';
import { openLocalObjects } from '#objects';
import { parseMarker } from '#roots';
import { openLmdbState } from '#state';
import { testKey } from '../support/queue-fixtures.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

/** Each file was written by version 0.1.0; queue and graph have tests of their own. */
const sample = (name: string): string => join(import.meta.dirname, 'v1', name);
const rootId = 'SR-02020202020202020202020202020202';
const domain = `daemon:${rootId}`;
const names = stagingNames(1, systemChance);

async function unpack(name: string, path: string): Promise<void> {
  await writeFile(path, gunzipSync(await readFile(sample(name))));
}

describe('what version 0.1.0 has stored', () => {
  it('names its root in root.json', async () => {
    expect(parseMarker('/root', await readFile(sample('root.json')))).toEqual({
      format: 1,
      layoutVersion: 1,
      storageRootId: rootId,
      state: 'active',
      createdAt: '2026-11-30T09:00:00.000Z',
      keyEncoding: 'plain',
      isLab: false,
    });
  });

  it('lets in whom tokens.json names', () =>
    withTemporaryDirectory(async (folder) => {
      const path = join(folder, 'tokens.json');
      await writeFile(path, await readFile(sample('tokens.json')), { mode: 0o600 });
      const [disk, clock, chance] = [nodeDisk(), systemClock, systemChance];
      const tokens = await openTokenStore({ disk, path, names, clock, chance });
      const secret = `mrt_${Buffer.alloc(32, 3).toString('base64url')}`;
      expect(tokens.recognise(secret, clock.now()).principal).toMatchObject({
        name: 'ops',
        scopes: new Set(['ops:read', 'ops:write']),
      });
      expect(await tokens.list()).toMatchObject([
        { name: 'ops' },
        { name: 'agents', workspaces: ['demo'], expiresAt: '2099-01-01T00:00:00.000Z' },
      ]);
    }));

  it('keeps its generations in the control database, whose schema is brought up to date (P6)', () =>
    withTemporaryDirectory(async (folder) => {
      const path = join(folder, 'control.db');
      await unpack('control.db.gz', path);
      const control = openControlDatabase(path, { clock: systemClock });
      expect(control.schemaVersion).toBe(controlSchemaVersion);
      expect(control.leases.read(domain)).toMatchObject({
        generation: 5,
        holder: { label: 'daemon', node: 'host', pid: 8 },
      });
      const order = { domain, token: 't3', label: 'daemon', node: 'host', pid: 9 };
      expect(control.leases.take(order)).toBe(6);
      expect(control.operations.list({ limit: 1 })).toEqual([]);
      control.close();
    }));

  it('keeps ids, progress, rows and its guard in the state store', () =>
    withTemporaryDirectory(async (directory) => {
      await unpack('state.mdb.gz', join(directory, 'data.mdb'));
      const permitOf = (generation: number): FencePermit =>
        FencePermit.issue(domain, generation, 'me', () => true);
      await expect(openLmdbState({ directory, permit: permitOf(4) })).rejects.toMatchObject({
        code: 'FENCE_STALE',
      });
      const state = await openLmdbState({ directory, permit: permitOf(6) });
      const key = testKey('s');
      expect(state.stateUuid).toMatch(/^00000000-0000-4000-8000-/);
      expect(state.getDedup(key, 'live')).toEqual({
        ordinal: 1,
        offset: 120,
        length: 60,
        status: 'live',
        isDerivedId: false,
      });
      expect(state.getDedup(key, 'dead')).toMatchObject({
        status: 'dead',
        isDerivedId: true,
        contentSha256: 'ab'.repeat(32),
      });
      expect(state.getProgress(key)).toMatchObject({ indexedThrough: 180 });
      expect(state.getRow(key)).toMatchObject({
        ordinal: 1,
        cursor: { schema: 1 },
        totals: { accepted: 4, applied: 2, dead: 1, discarded: 1, duplicates: 3 },
        owner: 'agents',
      });
      await state.close();
    }));

  it('keeps its objects in a store with a name', () =>
    withTemporaryDirectory(async (directory) => {
      const marker = join(directory, 'values', '.store.json');
      await mkdir(join(directory, 'values'));
      await copyFile(sample('objects.store.json'), marker);
      const disk = nodeDisk();
      const objects = await openLocalObjects({ directory, disk, chance: systemChance, names });
      await objects.close();
      expect(await readFile(marker)).toEqual(await readFile(sample('objects.store.json')));
    }));
});
