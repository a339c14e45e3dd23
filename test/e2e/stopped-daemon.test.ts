import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import { killArguments, undisturbed } from '../../src/lab/kills.ts';
import { runDaemonToItsEnd, startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import {
  postLines,
  readBooks,
  readDigest,
  waitUntilIdle,
  type Digest,
} from '../support/daemon-client.ts';
import { freezeAtRest, isAtRest, untilStopped } from '../support/freeze-at-rest.ts';
import { makeLabRoot } from '../support/lab-root.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { eventCount, makeWorkload, type WorkloadBatch } from '../support/workload.ts';

const batches = makeWorkload({ seed: 5, sessions: 5, turns: 6, eventsPerBatch: 5 });
const timeout = 240_000;

/** Posts what is left, one after another, until a request is not acknowledged; how far it came. */
async function post(url: string, from: number, until: number = batches.length): Promise<number> {
  for (let at = from; at < until; at += 1)
    if ((await postLines(url, batches[at]?.bodies ?? [])) !== 202) return at;
  return until;
}

/** The lock of a root as an administrator might take it away: the one way in which two daemons can come to serve one root. */
function takeLockAway(root: string): Promise<void> {
  return rm(join(root, '.maintenance', 'root.lock'));
}

async function checkWhole(daemon: ChildDaemon, expected: Digest): Promise<void> {
  await waitUntilIdle(daemon.url);
  const count = eventCount(batches);
  expect(await readBooks(daemon.url), daemon.output()).toMatchObject({
    accepted: count,
    applied: count,
    pending: 0,
    dead: 0,
    residual: 0,
  });
  expect(await readDigest(daemon.url)).toEqual(expected);
}

/** Sends a request to a daemon that stands still; it is answered when it goes on, or when it is gone. */
function postLate(
  daemon: ChildDaemon,
  batch: WorkloadBatch | undefined,
): Promise<number | undefined> {
  return postLines(daemon.url, batch?.bodies ?? []);
}

/** A daemon that stands still between a fold and its transaction, and holds no store's lock: a session more is tried with until one does. */
async function standingBeforeApply(root: string): Promise<ChildDaemon> {
  const armed = (action: string): { readonly [name: string]: string } => ({
    MILLRACE_FAILPOINTS: `drain:before-apply=${action}`,
  });
  for (let at = 0; ; at += 1) {
    const before = await startDaemon({ root, args: killArguments, env: armed('crash') });
    await post(before.url, at, at + 1);
    await before.exited();
    const standing = await startDaemon({ root, args: killArguments, env: armed('stop') });
    await untilStopped(standing);
    if (await isAtRest(root)) return standing;
    standing.thaw();
    await waitUntilIdle(standing.url);
    await standing.kill();
  }
}

describe('a daemon that stands still', () => {
  let expected: Digest;
  beforeAll(async () => {
    expected = await withTemporaryDirectory((root) => undisturbed(root, batches));
  }, timeout);

  it(
    'keeps its root: a second daemon is refused, and the first goes on (P6, ING-T21)',
    { timeout },
    async () => {
      await withTemporaryDirectory(async (root) => {
        const first = await startDaemon({ root, args: killArguments });
        const done = await post(first.url, 0, 10);
        const beside = await runDaemonToItsEnd({ root, args: killArguments });
        expect(beside.output).toContain('ROOT_LOCKED');
        first.freeze();
        const late = await runDaemonToItsEnd({ root, args: killArguments });
        expect(late.code).toBe(beside.code);
        expect(late.code).not.toBe(0);
        expect(late.output).toContain('ROOT_LOCKED');
        first.thaw();
        expect(await post(first.url, done)).toBe(batches.length);
        await checkWhole(first, expected);
        expect(await first.stop()).toBe(0);
      });
    },
  );

  it(
    'writes nothing that counts when it resumes after a takeover (P6, ING-T25)',
    { timeout },
    async () => {
      await withTemporaryDirectory(async (root) => {
        const first = await startDaemon({ root, args: killArguments });
        const done = await post(first.url, 0, 12);
        await waitUntilIdle(first.url);
        await freezeAtRest(first);
        const late = postLate(first, batches[done]);
        await takeLockAway(root);
        const second = await startDaemon({ root, args: killArguments });
        expect(await post(second.url, done)).toBe(batches.length);
        await checkWhole(second, expected);
        first.thaw();
        await late;
        expect(await first.exited(), first.output()).toBe(75);
        await checkWhole(second, expected);
        await second.kill();
        const third = await startDaemon({ root, args: killArguments });
        await checkWhole(third, expected);
        expect(await third.stop()).toBe(0);
      });
    },
  );

  it(
    'applies nothing when it resumes between a fold and its transaction after a takeover (P3, P6, ING-T25)',
    { timeout },
    async () => {
      await withTemporaryDirectory(async (root) => {
        await makeLabRoot(root);
        const first = await standingBeforeApply(root);
        await takeLockAway(root);
        const second = await startDaemon({ root, args: killArguments });
        // What the first one took is there; all of it is sent again, and its ids are known.
        expect(await post(second.url, 0)).toBe(batches.length);
        await checkWhole(second, expected);
        first.thaw();
        expect(await first.exited(), first.output()).toBe(75);
        await checkWhole(second, expected);
        expect(await second.stop()).toBe(0);
      });
    },
  );

  it.each(['segment:begun', 'recovery:tenure-begun', 'checkpoint:before-mark'])(
    'loses nothing when the daemon that takes over is killed at %s, and it resumes (P1, P3, P6, ING-T45)',
    { timeout },
    async (point) => {
      await withTemporaryDirectory(async (root) => {
        await makeLabRoot(root);
        const first = await startDaemon({ root, args: killArguments });
        const done = await post(first.url, 0, 20);
        await waitUntilIdle(first.url);
        await freezeAtRest(first);
        const late = postLate(first, batches[20]);
        await takeLockAway(root);
        const env = { MILLRACE_FAILPOINTS: `${point}=crash` };
        const killed = await runDaemonToItsEnd({ root, args: killArguments, env });
        expect(killed.code, killed.output).toBeNull();
        first.thaw();
        // The root has another tenure by now: what it was asked while it stood still it may not acknowledge, durable or not.
        expect(await late).toBe(503);
        await systemClock.sleep(200);
        await first.kill();
        const second = await startDaemon({ root, args: killArguments });
        expect(await post(second.url, done)).toBe(batches.length);
        await checkWhole(second, expected);
        expect(await second.stop()).toBe(0);
      });
    },
  );
});

describe('a start that waits for a store', () => {
  it(
    'ends in order when it is told to stop, whoever holds the store (P10, ING-T25)',
    { timeout },
    () =>
      withTemporaryDirectory(async (root) => {
        const before = await startDaemon({ root });
        await before.kill();
        const program = (path: string, ...args: string[]) =>
          spawn(process.execPath, [fileURLToPath(new URL(path, import.meta.url)), ...args], {
            stdio: ['ignore', 'pipe', 'pipe'],
          });
        const holder = program('../state/state-holder.ts', join(root, 'state', 'daemon'));
        await once(holder.stdout, 'data');
        const serve = program('../../bin/millrace.js', 'serve', '--root', root, '--port', '0');
        try {
          let said = '';
          for await (const chunk of serve.stderr) {
            const isNew = !said.includes('STATE_HELD');
            said += String(chunk);
            // Once: a second signal ends it at once.
            if (isNew && said.includes('STATE_HELD')) serve.kill('SIGTERM');
          }
          if (serve.exitCode === null) await once(serve, 'exit');
          expect(serve.exitCode, said).toBe(0);
        } finally {
          serve.kill('SIGKILL');
          holder.kill('SIGKILL');
        }
      }),
  );
});
