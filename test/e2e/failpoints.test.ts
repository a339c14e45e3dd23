import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { runDaemonToItsEnd, startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import {
  postLines,
  readBooks,
  readDigest,
  waitUntilIdle,
  type Digest,
} from '../support/daemon-client.ts';
import { runLine } from '../support/command-line.ts';
import { makeLabRoot } from '../support/lab-root.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { eventCount, makeWorkload } from '../support/workload.ts';
import { listFiles, readText } from '../tidy/source-tree.ts';

/** Small segments and logs, so that a short run rolls them, makes checkpoints and compacts. */
const settings = [
  'queue.segment_bytes=64KiB',
  'compaction.idle_ms=1ms',
  'compaction.min_bytes=1KiB',
];
const args = [...settings.flatMap((setting) => ['--set', setting]), '--log-level', 'warn'];
const waitMsMax = 20_000;
const batches = makeWorkload({ seed: 11, sessions: 6, turns: 6, eventsPerBatch: 6 });

const names = listFiles('src', 'queue-backends')
  // An import has its own test of its points: no daemon comes to them.
  .filter((path) => path.endsWith('.ts') && !/^src\/(disk|legacy)\//.test(path))
  .flatMap((path) =>
    [...readText(path).matchAll(/\bfailpoint\('([^']+)'\)/g)].map((match) => match[1] ?? ''),
  )
  // An operator's act passes these, or damage does: session-delete, adopt, backup, retention and requeue-job.test.ts beside this file, test/crash.
  .filter(
    (name) =>
      !/^(adopt|backup|jobs|restore|retention|clear|position|reconcile|removal):|:undone$/.test(
        name,
      ),
  );

/** Posts everything in order until it is acknowledged or the daemon is gone; how far it came. */
async function postFrom(daemon: ChildDaemon, from: number): Promise<number> {
  for (let at = from; at < batches.length; at++)
    if ((await postLines(daemon.url, batches[at]?.bodies ?? [])) !== 202) return at;
  return batches.length;
}

async function finish(root: string, from: number): Promise<Digest> {
  const daemon = await startDaemon({ root, args });
  try {
    expect(await postFrom(daemon, from)).toBe(batches.length);
    await waitUntilIdle(daemon.url);
    const count = eventCount(batches);
    const books = await readBooks(daemon.url);
    expect(books, daemon.output()).toMatchObject({
      accepted: count,
      applied: count,
      dead: 0,
      residual: 0,
    });
    return await readDigest(daemon.url);
  } finally {
    await daemon.kill();
  }
}

/** Runs until the failpoint has killed it, in the start or under load; how far the posts came. It must have fired. */
async function crashAt(root: string, failpoint: string): Promise<number> {
  const env = { MILLRACE_FAILPOINTS: failpoint };
  let daemon: ChildDaemon;
  try {
    daemon = await startDaemon({ root, args, env });
  } catch {
    // It died before it was ready: that is what this failpoint is for.
    return 0;
  }
  const done = await postFrom(daemon, 0);
  if (comesByItself(failpoint)) await Promise.race([daemon.exited(), after(waitMsMax)]);
  expect(await daemon.stop(), `${failpoint} was never reached`).toBeNull();
  return done;
}

/** The drain works behind the posts; logs are compacted and epochs end once it has nothing left to do. */
function comesByItself(failpoint: string): boolean {
  return /^(drain|compaction|finalise):/.test(failpoint);
}

describe('a daemon that is killed at a named point', () => {
  let expected: Digest;
  beforeAll(async () => {
    expected = await withTemporaryDirectory((root) => finish(root, 0));
  });

  it('knows the points', () => {
    expect(names.length).toBeGreaterThan(5);
  });

  for (const name of names)
    for (const hit of hitsOf(name))
      it(`loses nothing at ${name}, hit ${hit} (P1, P3, P4, P5)`, async () => {
        await withTemporaryDirectory(async (root) => {
          await makeLabRoot(root);
          const done = await crashAt(root, `${name}=crash@${hit}`);
          // Whatever a kill leaves is put right by the next start: queue and graph have nothing that somebody must look at (ING-921, ING-541).
          const verified = await runLine('queue', 'verify', '--root', root);
          expect(verified.code, verified.out).toBe(0);
          expect(await finish(root, done)).toEqual(expected);
        });
      });
});

/** A start passes each point of the recovery once; the others are met in the start, and again under load or in the stop. */
function hitsOf(name: string): readonly number[] {
  if (name.startsWith('recovery:') || comesByItself(name)) return [1];
  if (name.startsWith('journal:')) return [1, 9];
  return [1, 2];
}

/** What a daemon leaves as soon as it listens, before it has recovered. */
async function readHint(root: string): Promise<{ readonly url: string; readonly pid: number }> {
  const read = (): Promise<string> => readFile(join(root, 'daemon.json'), 'utf8').catch(() => '');
  await expect.poll(read).toContain('http');
  return JSON.parse(await read()) as { url: string; pid: number };
}

describe('a daemon that recovers', () => {
  const env = { MILLRACE_FAILPOINTS: 'recovery:applied=delay:2000' };

  it('answers its probes, and tells clients to come back', async () => {
    await withTemporaryDirectory(async (root) => {
      await makeLabRoot(root);
      const starting = startDaemon({ root, args, env });
      const { url } = await readHint(root);
      expect((await fetch(`${url}/livez`)).status).toBe(200);
      const ready = await fetch(`${url}/readyz`);
      expect(ready.status).toBe(503);
      expect(await ready.json()).toMatchObject({ reasons: [{ code: 'RECOVERING' }] });
      const refused = await fetch(`${url}/v1/events`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: batches[0]?.bodies[0] ?? '',
      });
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
      expect((await fetch(`${url}/metrics`)).status).toBe(200);
      const daemon = await starting;
      expect(await postLines(daemon.url, batches[0]?.bodies ?? [])).toBe(202);
      await daemon.kill();
    });
  });

  it('is not held at its stop by a step of the start that does not end (P10, ING-825)', async () => {
    await withTemporaryDirectory(async (root) => {
      await makeLabRoot(root);
      const stuck = { MILLRACE_FAILPOINTS: 'recovery:applied=delay:3600000' };
      const short = [...args, '--set', 'shutdown.grace_ms=500ms'];
      const ending = runDaemonToItsEnd({ root, args: short, env: stuck });
      const { pid } = await readHint(root);
      process.kill(pid, 'SIGTERM');
      const { code, output } = await ending;
      expect(code, output).toBe(0);
      const next = await startDaemon({ root, args });
      await next.kill();
    });
  });

  it('stops in order when it is told to before it is ready (P10)', async () => {
    await withTemporaryDirectory(async (root) => {
      await makeLabRoot(root);
      const ending = runDaemonToItsEnd({ root, args, env });
      const { pid } = await readHint(root);
      process.kill(pid, 'SIGTERM');
      const { code, output } = await ending;
      expect(code, output).toBe(0);
      expect(existsSync(join(root, 'daemon.json'))).toBe(false);
      const next = await startDaemon({ root, args });
      await next.kill();
    });
  });
});
