import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startDaemon } from '../support/child-daemon.ts';
import { runLine } from '../support/command-line.ts';
import { getJson, postLines, readBooks, waitUntilIdle } from '../support/daemon-client.ts';

interface Status {
  readonly degraded: readonly { readonly code: string; readonly message: string }[];
}

function run(command: string, ...args: readonly string[]): string {
  const ran = spawnSync(command, args, { encoding: 'utf8' });
  expect(ran.status, `${command} ${args.join(' ')}: ${ran.stderr}`).toBe(0);
  return ran.stdout.trim();
}

function eventOf(id: string): string {
  const data = { session_id: `s${id.length}`, timestamp: '2026-01-01T00:00:00Z' };
  return JSON.stringify({ event: 'test:event', workspace: 'w', event_id: id, data });
}

describe('a file system that the kernel has made read-only', () => {
  it('is told in one line, takes nothing, ends no process, and has all that was acknowledged when it is mounted again (P1, P4, QFS-31)', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-ext4-'));
    const image = join(folder, 'image');
    const place = join(folder, 'place');
    spawnSync('mkdir', [place]);
    run('truncate', '-s', '256M', image);
    run('mkfs.ext4', '-q', image);
    run('mount', '-o', 'loop,errors=remount-ro', image, place);
    try {
      const root = join(place, 'root');
      const daemon = await startDaemon({ root });
      const bodies = Array.from({ length: 40 }, (_, at) => eventOf(`e${at}`));
      expect(await postLines(daemon.url, bodies)).toBe(202);
      const device = basename(run('findmnt', '-n', '-o', 'SOURCE', place));
      writeFileSync(`/sys/fs/ext4/${device}/trigger_fs_error`, '1');
      await expect.poll(() => postLines(daemon.url, [eventOf('later')])).toBe(503);
      expect((await fetch(`${daemon.url}/readyz`)).status).toBe(503);
      expect((await fetch(`${daemon.url}/livez`)).status).toBe(200);
      const { degraded } = await getJson<Status>(daemon.url, '/v1/status');
      expect(degraded[0]?.code).toBe('QUEUE_WRITE_FAILED');
      expect(degraded[0]?.message).toContain('the file system is mounted read-only (EROFS)');
      const doctor = await runLine('doctor', '--root', root);
      expect(doctor.code).toBe(1);
      expect(doctor.out).toMatch(/disk +failed .*mounted read-only.*kernel log/);
      expect(await daemon.stop(), daemon.output()).toBe(0);
      run('umount', place);
      spawnSync('fsck.ext4', ['-y', image]);
      run('mount', '-o', 'loop', image, place);
      const again = await startDaemon({ root });
      await waitUntilIdle(again.url);
      expect(await readBooks(again.url)).toMatchObject({ accepted: 40, applied: 40, residual: 0 });
      expect(await again.stop(), again.output()).toBe(0);
    } finally {
      spawnSync('umount', ['-l', place]);
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
