import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sha256Hex, systemChance } from '#base';
import {
  everyCrash,
  failingDisk,
  memoryDisk,
  namedPowerLosses,
  nodeDisk,
  recordingDisk,
  type Disk,
} from '#disk';
import { openLocalObjects } from '#objects';
import { describeObjects } from '../contract/objects/describe-objects.ts';
import { seededChance } from '../support/chance.ts';

const root = '/root';
const directory = join(root, 'objects');
const values = join(directory, 'values');
const bytes = Buffer.from('{"large":"value"}');
const sha256 = sha256Hex(bytes);
const path = join(values, sha256.slice(0, 2), sha256);

async function overwrite(disk: Disk, at: string, content: Uint8Array): Promise<void> {
  const file = await disk.open(at, 'write');
  await file.truncate(0);
  await file.writeAt([content], 0);
  await file.close();
}

describeObjects('local, on a disk in memory', async () => {
  const disk = memoryDisk({ directories: [root] });
  return {
    open: () => openLocalObjects({ directory, disk, chance: systemChance }),
    spoil: (name, content) => overwrite(disk, join(values, name.slice(0, 2), name), content),
    async dispose() {
      expect(disk.openPaths()).toEqual([]);
    },
  };
});

describeObjects('local, on the real disk', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-objects-'));
  const disk = nodeDisk();
  return {
    open: () => openLocalObjects({ directory: join(folder, 'objects'), disk }),
    spoil: (name, content) =>
      overwrite(disk, join(folder, 'objects', 'values', name.slice(0, 2), name), content),
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
});

describe('local objects', () => {
  it('keeps an object from the moment that its put resolved, whatever a power loss takes (P1, P11)', async () => {
    const disk = recordingDisk(memoryDisk({ directories: [root] }));
    const store = await openLocalObjects({ directory, disk, chance: seededChance(1) });
    await store.put(sha256, bytes, 'text/markdown');
    disk.mark('put');
    await store.close();
    let crashes = 0;
    for (const crash of everyCrash(disk.log, namedPowerLosses(20, seededChance))) {
      const again = await openLocalObjects({
        directory,
        disk: crash.disk,
        chance: seededChance(2),
      });
      const found = await again.read(sha256);
      const where = `after step ${crash.step}, ${crash.loss}`;
      if (crash.marks.length > 0) expect(found, where).toBeDefined();
      if (found !== undefined) expect(await again.mediaType(sha256), where).toBe('text/markdown');
      await again.put(sha256, bytes, 'text/markdown');
      expect(await again.read(sha256), where).toEqual(bytes);
      await again.close();
      crashes += 1;
    }
    expect(crashes).toBeGreaterThan(100);
  });

  it('fails a put whenever any call of the disk fails, keeps nothing half, and stores it at the next try (P1)', async () => {
    const calls = ['open', 'writeAt', 'sync', 'rename', 'syncDirectory', 'stat'] as const;
    for (const call of calls) {
      for (let nth = 1; nth < 20; nth += 1) {
        const disk = failingDisk(memoryDisk({ directories: [root] }));
        const store = await openLocalObjects({ directory, disk, chance: seededChance(nth) });
        disk.plan([{ code: 'ENOSPC', calls: [call], nth }]);
        const put = await Promise.allSettled([store.put(sha256, bytes, 'application/json')]);
        const hasFailed = put[0]?.status === 'rejected';
        expect(hasFailed).toBe(disk.failureCount() > 0);
        if (hasFailed)
          expect(put[0]).toMatchObject({
            reason: { code: 'OBJECTS_UNAVAILABLE', disposition: 'retry' },
          });
        disk.heal();
        await store.put(sha256, bytes, 'application/json');
        expect(await store.read(sha256)).toEqual(bytes);
        await store.close();
        if (!hasFailed) break;
      }
    }
  });

  it('takes away what an earlier start left half written, and nothing else', async () => {
    const disk = memoryDisk({ directories: [root] });
    const first = await openLocalObjects({ directory, disk, chance: seededChance(1) });
    await first.put(sha256, bytes, 'application/json');
    await first.close();
    const stale = `${path}.1-0123456789abcdef-1.tmp`;
    const foreign = join(values, sha256.slice(0, 2), 'notes.tmp');
    for (const at of [stale, foreign]) await overwrite(disk, at, Buffer.from('half'));
    const again = await openLocalObjects({ directory, disk, chance: seededChance(2) });
    await again.put(sha256, bytes, 'application/json');
    await again.close();
    expect(await disk.stat(stale)).toBeUndefined();
    expect(await disk.stat(foreign)).toBeDefined();
  });

  it('keeps the media type, also one that is not the usual', async () => {
    const disk = memoryDisk({ directories: [root] });
    const store = await openLocalObjects({ directory, disk });
    const text = Buffer.from('# notes');
    await store.put(sha256, bytes, 'application/json');
    await store.put(sha256Hex(text), text, 'text/markdown; charset=utf-8');
    expect(await store.mediaType(sha256)).toBe('application/json');
    expect(await store.mediaType(sha256Hex(text))).toBe('text/markdown; charset=utf-8');
    expect(await store.mediaType(sha256Hex(Buffer.from('absent')))).toBeUndefined();
    await store.close();
  });

  it('opens at most four files at once (P9)', async () => {
    const inner = memoryDisk({ directories: [root] });
    let openMost = 0;
    const disk: Disk = {
      ...inner,
      async open(at, mode) {
        const file = await inner.open(at, mode);
        openMost = Math.max(openMost, inner.openPaths().length);
        return file;
      },
    };
    const store = await openLocalObjects({ directory, disk });
    const all = Array.from({ length: 40 }, (_, at) => Buffer.from(`object ${at}`));
    await Promise.all(all.map((one) => store.put(sha256Hex(one), one, 'application/json')));
    await store.close();
    expect(openMost).toBeGreaterThan(1);
    expect(openMost).toBeLessThanOrEqual(4);
  });

  it('writes once what is put twenty times side by side, and never again (P11)', async () => {
    const disk = recordingDisk(memoryDisk({ directories: [root] }));
    const store = await openLocalObjects({ directory, disk });
    const put = (): Promise<void> => store.put(sha256, bytes, 'application/json');
    await Promise.all(Array.from({ length: 20 }, put));
    await put();
    await store.close();
    const renames = disk.log.steps.filter((step) => step.kind === 'rename' && step.to === path);
    expect(renames).toHaveLength(1);
  });

  it('waits at its closing for what has begun', async () => {
    const disk = memoryDisk({ directories: [root] });
    const store = await openLocalObjects({ directory, disk });
    const put = store.put(sha256, bytes, 'application/json');
    const read = store.read(sha256);
    await store.close();
    expect(disk.openPaths()).toEqual([]);
    await Promise.all([put, read]);
    await expect(store.read(sha256)).rejects.toThrow('open');
  });

  it.each(['{}', 'null', 'half a'])('refuses a store whose marker is %s', async (content) => {
    const disk = memoryDisk({ directories: [root] });
    const store = await openLocalObjects({ directory, disk });
    await store.close();
    await overwrite(disk, join(values, '.store.json'), Buffer.from(content));
    await expect(openLocalObjects({ directory, disk })).rejects.toMatchObject({
      code: 'OBJECT_CORRUPT',
    });
  });

  it('refuses a store of a newer version by name', async () => {
    const disk = memoryDisk({ directories: [root] });
    const store = await openLocalObjects({ directory, disk });
    await store.close();
    const marker = join(values, '.store.json');
    await overwrite(disk, marker, Buffer.from('{"v":2}'));
    await expect(openLocalObjects({ directory, disk })).rejects.toMatchObject({
      code: 'FORMAT_TOO_NEW',
    });
  });
});
