import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restoreBackup } from '#backup';
import { systemChance, systemClock } from '#base';
import { failingDisk, nodeDisk, stagingNames, type Disk } from '#disk';
import { rebindQueueFolder } from '#queue-backends/filesystem';
import { bindRoot } from '#roots';
import { runJson } from '../support/command-line.ts';
import { makeLabRoot } from '../support/lab-root.ts';

let place: string;
let backup: string;

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'millrace-restore-'));
  backup = join(place, 'saved');
  await makeLabRoot(join(place, 'root'));
  await runJson('backup', 'create', backup, '--root', join(place, 'root'));
});

afterAll(() => rm(place, { recursive: true, force: true }));

function restore(to: string, disk: Disk): Promise<unknown> {
  const names = stagingNames(process.pid, systemChance);
  return restoreBackup({
    from: backup,
    to,
    disk,
    names,
    clock: systemClock,
    chance: systemChance,
    rebindQueue: (directory, rootId, from) =>
      rebindQueueFolder({ disk, names }, directory, rootId, from),
    tell: () => undefined,
  });
}

/** As `serve` would: with the whole disk, and no word of a restore. */
async function bind(path: string): Promise<string> {
  try {
    const names = stagingNames(process.pid, systemChance);
    const root = await bindRoot(
      { path, source: 'env' },
      { disk: nodeDisk(), clock: systemClock, chance: systemChance, names, keyEncoding: 'plain' },
    );
    root.lock.release();
    return root.isNew ? 'a new root' : 'the restored root';
  } catch (error) {
    return (error as { readonly code: string }).code;
  }
}

describe('a restore that dies at any step of the disk', () => {
  it('is never taken for a root, and ends when it is run again (FEN-707, ROOT-57)', async () => {
    let [steps, whole] = [0, 0];
    for (let step = 1; ; step += 1) {
      const to = join(place, `to-${step}`);
      const disk = dyingDisk(step);
      const end = await restore(to, disk).then(
        () => 'done',
        () => 'dead',
      );
      if (end === 'done') break;
      steps = step;
      const bound = existsSync(to) ? await bind(to) : 'ROOT_MISSING';
      // Its last step, the sync of a name that is gone, decides nothing that a living process could see.
      if (bound === 'the restored root') whole += 1;
      else {
        expect(['RESTORE_UNFINISHED', 'ROOT_MISSING'], `step ${step}`).toContain(bound);
        await restore(to, nodeDisk());
      }
      expect(await bind(to), `step ${step}`).toBe('the restored root');
      await rm(to, { recursive: true });
    }
    expect(steps).toBeGreaterThan(20);
    expect(whole).toBe(1);
  }, 120_000);
});

/** From the `step`th call that may change something on, every one fails: the process is gone. */
function dyingDisk(step: number): Disk {
  const calls = [
    'open',
    'rename',
    'unlink',
    'makeDirectory',
    'syncDirectory',
    'writeAt',
    'sync',
  ] as const;
  return failingDisk(nodeDisk(), [
    { code: 'EIO', calls, nth: step, times: Number.POSITIVE_INFINITY },
  ]);
}
