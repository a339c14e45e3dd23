import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runDaemonToItsEnd, startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { runLine } from '../support/command-line.ts';
import { getJson, readBooks, waitUntilIdle } from '../support/daemon-client.ts';

interface Status {
  readonly degraded: readonly { readonly code: string; readonly message: string }[];
  readonly accepted: number;
}

/** A file system of `mebibytes` that is gone afterwards, whatever happened. */
async function withSmallFileSystem(
  mebibytes: number,
  use: (place: string) => Promise<void>,
): Promise<void> {
  const place = mkdtempSync(join(tmpdir(), 'millrace-small-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', place]);
  expect(mounted.status, String(mounted.stderr)).toBe(0);
  try {
    await use(place);
  } finally {
    spawnSync('umount', ['-l', place]);
    rmdirSync(place);
  }
}

function eventOf(id: string, bytes: number): string {
  const data = { session_id: `s${id.length}`, timestamp: '2026-01-01T00:00:00Z' };
  const text = 'x'.repeat(bytes);
  return JSON.stringify({
    event: 'test:event',
    workspace: 'w',
    event_id: id,
    data: { ...data, text },
  });
}

interface Answer {
  readonly status: number;
  readonly retryAfter: number;
  readonly text: string;
}

async function post(daemon: ChildDaemon, body: string): Promise<Answer> {
  const answer = await fetch(`${daemon.url}/v1/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const retryAfter = Number(answer.headers.get('retry-after') ?? 0);
  return { status: answer.status, retryAfter, text: await answer.text() };
}

/** Posts until it is refused; the ids that were acknowledged, and the refusal. */
async function fill(
  daemon: ChildDaemon,
  prefix: string,
): Promise<{ acknowledged: number; refusal: Answer }> {
  for (let at = 0; at < 20_000; at += 1) {
    const answer = await post(daemon, eventOf(`${prefix}${at}`, 20_000));
    if (answer.status !== 202) return { acknowledged: at, refusal: answer };
  }
  throw new Error('a small file system was never full');
}

/** Takes all that is free but for so many bytes, as a neighbour on the same file system does. */
async function takeAll(place: string, leftBytes = 0): Promise<string> {
  const path = join(place, 'foreign');
  for (let tries = 0; tries < 3; tries += 1) {
    const { bavail, bsize } = await statfs(place);
    const bytes = Math.max(0, bavail * bsize - leftBytes);
    await writeFile(path, Buffer.alloc(bytes), { flag: 'a' }).catch((error: unknown) => {
      if ((error as { code?: string }).code !== 'ENOSPC') throw error;
    });
  }
  return path;
}

async function untilReady(daemon: ChildDaemon, isReady: boolean): Promise<void> {
  await expect
    .poll(async () => (await fetch(`${daemon.url}/readyz`)).ok, { interval: 50 })
    .toBe(isReady);
}

describe('a root on a small file system', () => {
  it('is filled until it is refused, empties its queue without a hand, and says what is wrong in one line (SC-029, P9, QFS-30)', () =>
    withSmallFileSystem(40, async (place) => {
      const root = join(place, 'root');
      const daemon = await startDaemon({ root });
      try {
        let acknowledged = 0;
        // A refusal may be for the room that the backlog needs: then there is more once it has drained.
        for (let round = 0; round < 100; round += 1) {
          const filled = await fill(daemon, `a${round}-`);
          acknowledged += filled.acknowledged;
          expect(filled.refusal.status).toBe(503);
          expect(filled.refusal.retryAfter).toBeGreaterThanOrEqual(1);
          await waitUntilIdle(daemon.url);
          if (filled.acknowledged === 0) break;
        }
        expect(acknowledged).toBeGreaterThan(100);
        expect(await readBooks(daemon.url)).toMatchObject({
          accepted: acknowledged,
          applied: acknowledged,
          pending: 0,
          dead: 0,
          residual: 0,
        });
        // Each checkpoint gives room for an event more, until one segment of the journal is left: from then on there is none.
        const journal = join(root, 'queue', 'journal');
        await expect
          .poll(
            async () => {
              await takeAll(place, 2 ** 19);
              return (await readdir(journal)).length;
            },
            { interval: 100 },
          )
          .toBe(1);
        await takeAll(place, 2 ** 19);
        await untilReady(daemon, false);
        const { degraded } = await getJson<Status>(daemon.url, '/v1/status');
        expect(degraded.map(({ code }) => code)).toContain('DISK_FULL');
        expect(degraded[0]?.message).toContain('free space on it');
        expect(degraded[0]?.message).toContain(root);
        await expect.poll(() => daemon.output()).toContain('is nearly full');
        const doctor = await runLine('doctor', '--root', root);
        expect(doctor.code).toBe(1);
        expect(doctor.out).toMatch(
          /disk space +failed .*kept in reserve[^]*disk space: free space on the file system/,
        );
        expect(doctor.out).toMatch(/daemon +failed .*DISK_FULL.*nearly full/);
      } finally {
        await daemon.kill();
      }
    }));

  it('takes nothing while a neighbour has all of it, and goes on by itself when that is over (P1, P4, QFS-31)', () =>
    withSmallFileSystem(96, async (place) => {
      const root = join(place, 'root');
      const daemon = await startDaemon({ root, args: ['--set', 'queue.reserve_bytes=0'] });
      try {
        for (let at = 0; at < 50; at += 1)
          expect((await post(daemon, eventOf(`a${at}`, 1_000))).status).toBe(202);
        const foreign = await takeAll(place);
        const { acknowledged, refusal } = await fill(daemon, 'bb');
        expect(refusal.status).toBe(503);
        expect(refusal.retryAfter).toBeGreaterThanOrEqual(1);
        await untilReady(daemon, false);
        await rm(foreign);
        await untilReady(daemon, true);
        expect((await post(daemon, eventOf('ccc1', 1_000))).status).toBe(202);
        expect((await post(daemon, eventOf(`bb${acknowledged}`, 20_000))).status).toBe(202);
        await waitUntilIdle(daemon.url);
        expect(await readBooks(daemon.url)).toMatchObject({
          accepted: 52 + acknowledged,
          applied: 52 + acknowledged,
          residual: 0,
          dead: 0,
        });
        await expect
          .poll(async () => (await getJson<Status>(daemon.url, '/v1/status')).degraded, {
            timeout: 20_000,
          })
          .toEqual([]);
        await daemon.kill();
        const again = await startDaemon({ root });
        await waitUntilIdle(again.url);
        expect(await readBooks(again.url)).toMatchObject({
          accepted: 52 + acknowledged,
          residual: 0,
        });
        expect(await again.stop(), again.output()).toBe(0);
      } finally {
        await daemon.kill();
      }
    }));

  it('is refused a start in one line while it is full, and starts when it is not (QFS-31)', () =>
    withSmallFileSystem(40, async (place) => {
      const root = join(place, 'root');
      const first = await startDaemon({ root });
      expect((await post(first, eventOf('a1', 1_000))).status).toBe(202);
      await first.kill();
      const foreign = await takeAll(place);
      const refused = await runDaemonToItsEnd({ root, args: ['--log-level', 'error'] });
      expect(refused.code).toBe(73);
      expect(refused.output.trim().split('\n')).toEqual([
        expect.stringMatching(/^DISK_UNAVAILABLE: .*the file system is full.*free space on it/),
      ]);
      await rm(foreign);
      const again = await startDaemon({ root });
      await waitUntilIdle(again.url);
      expect(await readBooks(again.url)).toMatchObject({ accepted: 1, applied: 1, residual: 0 });
      expect(await again.stop(), again.output()).toBe(0);
    }));
});
