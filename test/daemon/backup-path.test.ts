import { mkdir, realpath, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { confineBackupPath, type BackupPathRules } from '../../src/daemon/desk/backup-path.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

interface Place {
  readonly folder: string;
  readonly rules: BackupPathRules;
}

function inPlace(use: (place: Place) => Promise<void>): Promise<void> {
  return withTemporaryDirectory(async (made) => {
    const folder = await realpath(made);
    for (const name of ['root', 'saved']) await mkdir(join(folder, name));
    await symlink(join(folder, 'root'), join(folder, 'saved', 'way-in'));
    await symlink(folder, join(folder, 'saved', 'way-out'));
    const root = join(folder, 'root');
    await use({ folder, rules: { root, directory: null, isListeningBeyondLoopback: false } });
  });
}

const refusal = { code: 'BACKUP_PATH_REFUSED' };

describe('the path of a backup', () => {
  it('is any outside the root, while only this machine can ask', () =>
    inPlace(async ({ folder, rules }) => {
      const path = join(folder, 'monday');
      expect(await confineBackupPath(path, rules)).toBe(path);
      for (const wrong of [
        '',
        'monday',
        `${path}\0`,
        join(folder, 'root'),
        join(folder, 'root', 'in'),
        join(folder, 'saved', 'way-in', 'in'),
        join(folder, 'saved', '..', 'root', 'in'),
        join(folder, 'absent', 'monday'),
      ])
        await expect(confineBackupPath(wrong, rules), wrong).rejects.toMatchObject(refusal);
    }));

  it('lies in backup.dir where that is set, links followed', () =>
    inPlace(async ({ folder, rules }) => {
      const directory = join(folder, 'saved');
      const bound = { ...rules, directory, isListeningBeyondLoopback: true };
      expect(await confineBackupPath('monday', bound)).toBe(join(directory, 'monday'));
      expect(await confineBackupPath(join(directory, 'monday'), bound)).toContain('monday');
      for (const wrong of [
        join(folder, 'monday'),
        '../monday',
        'way-out/monday',
        'way-in/monday',
        directory,
        '.',
      ])
        await expect(confineBackupPath(wrong, bound), wrong).rejects.toMatchObject(refusal);
    }));

  it('is nowhere without backup.dir, when other machines can ask', () =>
    inPlace(async ({ folder, rules }) => {
      const open = { ...rules, isListeningBeyondLoopback: true };
      await expect(confineBackupPath(join(folder, 'monday'), open)).rejects.toMatchObject(refusal);
    }));
});
