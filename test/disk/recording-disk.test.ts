import { describe, expect, it } from 'vitest';
import {
  atomicReplace,
  everyCrash,
  failingDisk,
  makeDurableDirectory,
  materialise,
  memoryDisk,
  namedPowerLosses,
  nodeDisk,
  recordingDisk,
  stagingNames,
  type Disk,
  type PowerLoss,
} from '#disk';
import { seededChance } from '../support/chance.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { describeDisk } from './describe-disk.ts';
import { treeOf, writeSynced, writeUnsynced } from './tree.ts';

const kept: PowerLoss = {
  bytes: 'kept',
  entries: 'kept',
  failedSyncs: 'kept',
  chance: seededChance(1),
};
const lost: PowerLoss = { ...kept, bytes: 'lost', entries: 'lost', failedSyncs: 'lost' };

/** A bit of everything that a disk can do. */
async function workload(disk: Disk, path: string): Promise<void> {
  const names = stagingNames(7, seededChance(2));
  await makeDurableDirectory(disk, `${path}/a/b`, path);
  const log = await disk.open(`${path}/a/b/log`, 'create');
  await log.writeAt([Buffer.alloc(1300, 'x'), Buffer.alloc(5, 'y')], 0);
  await log.sync();
  await Promise.all(
    [0, 1, 2, 3].map((at) => log.writeAt([Buffer.alloc(700, `${at}`)], 2000 + at * 700)),
  );
  await disk.rename(`${path}/a/b/log`, `${path}/a/log`);
  await log.truncate(3000);
  await log.close();
  await atomicReplace(disk, `${path}/record`, Buffer.from('one'), names);
  await atomicReplace(disk, `${path}/record`, Buffer.from('two'), names);
  await writeUnsynced(disk, `${path}/gone`, 'gone');
  await disk.unlink(`${path}/gone`);
  await writeUnsynced(disk, `${path}/record`, '2', 1);
}

describeDisk('recordingDisk', async (use) => {
  const inner = memoryDisk({ directories: ['/data'] });
  const disk = recordingDisk(inner);
  await use(disk, '/data');
  expect(inner.openPaths()).toEqual([]);
  const last = disk.log.steps.length - 1;
  expect(await treeOf(materialise(disk.log, last, kept), '/')).toEqual(await treeOf(inner, '/'));
  expect(await treeOf(materialise(disk.log, last, lost), '/')).toEqual(
    await treeOf(inner.afterPowerLoss(lost), '/'),
  );
});

describe('recordingDisk', () => {
  it('rebuilds the content of a real folder from its log', () =>
    withTemporaryDirectory(async (path) => {
      const disk = recordingDisk(nodeDisk(), memoryDisk({ directories: [path] }));
      await workload(disk, path);
      const rebuilt = materialise(disk.log, disk.log.steps.length - 1, kept);
      const real = await treeOf(nodeDisk(), path);
      expect(await treeOf(rebuilt, path)).toEqual(real);
      expect(Object.keys(real)).toEqual([
        `${path}/a/`,
        `${path}/a/b/`,
        `${path}/a/log`,
        `${path}/record`,
      ]);
    }));

  it('begins with what the memory disk held, unsynced changes included', async () => {
    const inner = memoryDisk();
    await writeSynced(inner, '/file', 'durable');
    await inner.syncDirectory('/');
    await writeUnsynced(inner, '/file', 'UNSYNCED');
    const disk = recordingDisk(inner);
    expect(await treeOf(materialise(disk.log, -1, lost), '/')).toEqual({ '/file': 'durable' });
    const file = await disk.open('/file', 'write');
    await file.sync();
    await file.close();
    expect(await treeOf(materialise(disk.log, 1, lost), '/')).toEqual({ '/file': 'UNSYNCED' });
    expect(await treeOf(materialise(disk.log, 0, lost), '/')).toEqual({ '/file': 'durable' });
  });

  it('logs each durable step with its bytes, in order, and nothing that only reads', async () => {
    const disk = recordingDisk(memoryDisk());
    await writeSynced(disk, '/file', 'abc', 2);
    await disk.syncDirectory('/');
    disk.mark('acknowledged', 1);
    await treeOf(disk, '/');
    await (await disk.open('/file', 'read')).close();
    expect(disk.log.steps).toEqual([
      { kind: 'create', path: '/file', file: 1 },
      { kind: 'write', path: '/file', file: 1, offset: 2, bytes: Buffer.from('abc') },
      { kind: 'sync', path: '/file', file: 1, covers: 2 },
      { kind: 'sync-directory', path: '/', covers: 3 },
      { kind: 'mark', label: 'acknowledged', detail: 1 },
    ]);
  });

  it('logs the part of a failed write that reached the disk, and counts its failed sync as uncertain', async () => {
    const recording = recordingDisk(memoryDisk());
    const disk = failingDisk(recording);
    const file = await disk.open('/file', 'write');
    await disk.syncDirectory('/');
    disk.plan([
      { code: 'ENOSPC', calls: ['writeAt'], bytesBefore: 2 },
      { code: 'EIO', calls: ['sync'] },
    ]);
    await expect(file.writeAt([Buffer.from('abc')], 0)).rejects.toMatchObject({ code: 'ENOSPC' });
    await expect(file.sync()).rejects.toMatchObject({ code: 'EIO' });
    await file.writeAt([Buffer.from('d')], 2);
    await file.sync();
    await file.close();
    const last = recording.log.steps.length - 1;
    expect(await treeOf(materialise(recording.log, last, kept), '/')).toEqual({ '/file': 'abd' });
    expect(await treeOf(materialise(recording.log, last, lost), '/')).toEqual({ '/file': '\0\0d' });
  });

  it('covers by a sync only the steps that were done when it began', async () => {
    const disk = recordingDisk(memoryDisk());
    const file = await disk.open('/file', 'create');
    await disk.syncDirectory('/');
    await file.writeAt([Buffer.from('before')], 0);
    await Promise.all([file.writeAt([Buffer.from('during')], 6), file.sync()]);
    await Promise.all([disk.rename('/file', '/moved'), disk.syncDirectory('/')]);
    await file.close();
    const last = disk.log.steps.length - 1;
    expect(await treeOf(materialise(disk.log, last, lost), '/')).toEqual({ '/file': 'before' });
    expect(await treeOf(materialise(disk.log, last, kept), '/')).toEqual({
      '/moved': 'beforeduring',
    });
  });

  it('counts a sync that the real disk failed as uncertain', async () => {
    const recording = recordingDisk(failingDisk(memoryDisk(), [{ code: 'EIO', calls: ['sync'] }]));
    await expect(writeSynced(recording, '/file', 'x')).rejects.toMatchObject({ code: 'EIO' });
    expect(recording.log.steps.at(-1)).toMatchObject({ kind: 'failed-sync', path: '/file' });
  });
});

describe('everyCrash', () => {
  const losses = namedPowerLosses(6, seededChance);

  it('visits every step with every loss, and each crash can be made again alone', async () => {
    const disk = recordingDisk(memoryDisk({ directories: ['/data'] }));
    await workload(disk, '/data');
    const opens = disk.log.steps.filter(({ kind }) => kind === 'open').length;
    let crashCount = 0;
    for (const crash of everyCrash(disk.log, losses)) {
      crashCount += 1;
      const loss = losses.find(({ name }) => name === crash.loss);
      const again = materialise(disk.log, crash.step, loss?.at(crash.step) ?? kept);
      expect(await treeOf(again, '/data')).toEqual(await treeOf(crash.disk, '/data'));
    }
    expect(crashCount).toBe((disk.log.steps.length + 1 - opens) * losses.length);
  });

  it('shows a record acknowledged after its sync at every later crash (P1)', async () => {
    const disk = recordingDisk(memoryDisk());
    await appendRecords(disk, 'with sync');
    expect(await missingRecords(disk)).toEqual([]);
  });

  it('finds the record that was acknowledged before its sync', async () => {
    const disk = recordingDisk(memoryDisk());
    await appendRecords(disk, 'without sync');
    expect((await missingRecords(disk)).length).toBeGreaterThan(0);
  });

  it('finds the file whose folder was not synced', async () => {
    const disk = recordingDisk(memoryDisk());
    await appendRecords(disk, 'without folder sync');
    expect((await missingRecords(disk)).length).toBeGreaterThan(0);
  });

  it('shows the old record or the new one, never a part, at every crash of an atomic replacement', async () => {
    const inner = memoryDisk();
    await writeSynced(inner, '/record', 'old'.repeat(1000));
    await inner.syncDirectory('/');
    const disk = recordingDisk(inner);
    await atomicReplace(
      disk,
      '/record',
      Buffer.from('new'.repeat(1000)),
      stagingNames(1, seededChance(1)),
    );
    disk.mark('replaced');
    const seen = new Set<string>();
    for (const crash of everyCrash(disk.log, namedPowerLosses(40, seededChance))) {
      const text = Buffer.from((await crash.disk.readFile('/record')) ?? []).toString();
      const isWhole = text === 'old'.repeat(1000) || text === 'new'.repeat(1000);
      expect(isWhole, `step ${crash.step}, ${crash.loss}`).toBe(true);
      if (crash.marks.length > 0) expect(text.slice(0, 3)).toBe('new');
      seen.add(text.slice(0, 3));
    }
    expect([...seen].toSorted()).toEqual(['new', 'old']);
  });

  it('lets a recovery be recorded and crashed again on the disk of a crash', async () => {
    const disk = recordingDisk(memoryDisk());
    await writeSynced(disk, '/file', 'first');
    await disk.syncDirectory('/');
    const recovery = recordingDisk(materialise(disk.log, disk.log.steps.length - 1, lost));
    await writeSynced(recovery, '/file', 'second');
    const texts = new Set<string>();
    for (const crash of everyCrash(recovery.log, losses))
      texts.add((await treeOf(crash.disk, '/'))['/file'] ?? '');
    expect(texts).toEqual(new Set(['first', 'second']));
  });
});

type Way = 'with sync' | 'without sync' | 'without folder sync';

/** Three records appended to one file, each marked when it counts as acknowledged. */
async function appendRecords(disk: ReturnType<typeof recordingDisk>, way: Way): Promise<void> {
  const file = await disk.open('/log', 'create');
  if (way !== 'without folder sync') await disk.syncDirectory('/');
  for (const at of [0, 1, 2]) {
    await file.writeAt([Buffer.from(`record ${at}\n`)], at * 9);
    if (way !== 'without sync') await file.sync();
    disk.mark('acknowledged', `record ${at}`);
  }
  await file.close();
}

async function missingRecords(disk: ReturnType<typeof recordingDisk>): Promise<string[]> {
  const missing: string[] = [];
  for (const crash of everyCrash(disk.log, namedPowerLosses(6, seededChance))) {
    const text = Buffer.from((await crash.disk.readFile('/log')) ?? []).toString();
    for (const { detail } of crash.marks) {
      if (!text.includes(String(detail)))
        missing.push(`${String(detail)} at step ${crash.step}, ${crash.loss}`);
    }
  }
  return missing;
}
