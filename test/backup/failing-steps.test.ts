import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import { armFailpoints, disarmFailpoints } from '#disk';
import { runJson, runLine } from '../support/command-line.ts';
import { makeLabRoot } from '../support/lab-root.ts';

let place: string;
let root: string;

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'millrace-steps-'));
  root = join(place, 'root');
  await makeLabRoot(root);
});

afterAll(() => rm(place, { recursive: true, force: true }));
afterEach(disarmFailpoints);

const arm = (point: string): void =>
  armFailpoints(`${point}=error:EIO`, { isLabRoot: true, clock: systemClock });

describe('a step of a backup that fails', () => {
  for (const point of ['backup:before-manifest', 'backup:before-rename'])
    it(`leaves nothing at ${point}, and the next try makes a whole one (FEN-706, P7)`, async () => {
      const target = join(place, point.replace(':', '-'));
      arm(point);
      const failed = await runLine('backup', 'create', target, '--root', root);
      expect(failed.code, failed.out).not.toBe(0);
      expect(failed.err).toContain('BACKUP_FAILED');
      const names = await readdir(place);
      expect(names).not.toContain(point.replace(':', '-'));
      expect(names.filter((name) => name.endsWith('.tmp'))).toEqual([]);
      disarmFailpoints();
      await runJson('backup', 'create', target, '--root', root);
      expect((await runLine('backup', 'verify', target)).code).toBe(0);
    });

  it('leaves an empty folder at restore:before-marker, and the next try a root (FEN-707)', async () => {
    const [saved, target] = [join(place, 'saved'), join(place, 'restored')];
    await runJson('backup', 'create', saved, '--root', root);
    arm('restore:before-marker');
    const failed = await runLine('backup', 'restore', saved, '--root', target);
    expect(failed.code, failed.out).not.toBe(0);
    expect(await readdir(target)).not.toContain('root.json');
    disarmFailpoints();
    await runJson('backup', 'restore', saved, '--root', target);
    expect(await readdir(target)).toContain('root.json');
  });
});
