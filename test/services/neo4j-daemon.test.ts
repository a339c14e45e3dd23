import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runDaemonToItsEnd, startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { runLine } from '../support/command-line.ts';
import {
  getJson,
  postLines,
  readBooks,
  readDigest,
  waitUntilIdle,
  type Digest,
} from '../support/daemon-client.ts';
import { childEvents, parentEvents } from '../support/deleted-session.ts';
import { makeLabRoot } from '../support/lab-root.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { eventCount, makeWorkload } from '../support/workload.ts';
import { emptyNeo4j, neo4jUri } from './neo4j-plug.ts';
import { startNeo4j } from './neo4j-server.ts';

interface Status {
  readonly degraded: readonly { readonly code: string; readonly message: string }[];
  readonly neo4j_connected: boolean;
}

const batches = makeWorkload({ seed: 5, sessions: 8, turns: 4, eventsPerBatch: 10 });
const count = eventCount(batches);
const idleMs = 90_000;

function withNeo4j(uri: string): readonly string[] {
  const settings = [
    'graph.store=neo4j',
    `graph.neo4j.url=${uri}`,
    'supervisor.backoff_max_ms=500ms',
  ];
  return settings.flatMap((setting) => ['--set', setting]);
}

async function post(daemon: ChildDaemon, from: number, to: number): Promise<void> {
  for (const { bodies } of batches.slice(from, to))
    expect(await postLines(daemon.url, bodies), daemon.output()).toBe(202);
}

async function settle(daemon: ChildDaemon): Promise<Digest> {
  await waitUntilIdle(daemon.url, idleMs);
  expect(await readBooks(daemon.url), daemon.output()).toMatchObject({
    accepted: count,
    applied: count,
    dead: 0,
    residual: 0,
  });
  return readDigest(daemon.url);
}

let expected: Digest;

beforeAll(async () => {
  await withTemporaryDirectory(async (folder) => {
    const daemon = await startDaemon({ root: join(folder, 'root') });
    try {
      await post(daemon, 0, batches.length);
      expected = await settle(daemon);
    } finally {
      await daemon.kill();
    }
  });
});

describe('a daemon whose graph is in Neo4j', () => {
  it(
    'takes events while the server is killed under load, says since when it is away, starts without it, and heals by itself with an equal digest and no dead letter (P1, P4, P9, ING-536)',
    () =>
      withTemporaryDirectory(async (folder) => {
        const server = await startNeo4j();
        const root = join(folder, 'root');
        const args = withNeo4j(server.uri);
        const third = Math.floor(batches.length / 3);
        let daemon = await startDaemon({ root, args });
        try {
          await post(daemon, 0, third);
          await server.kill();
          await post(daemon, third, 2 * third);
          const told = /unreachable since \d{4}-\d\d-\d\dT/;
          await expect
            .poll(
              async () => (await getJson<Status>(daemon.url, '/v1/status')).degraded[0]?.message,
              {
                timeout: 60_000,
              },
            )
            .toMatch(told);
          expect((await getJson<Status>(daemon.url, '/v1/status')).neo4j_connected).toBe(false);
          const ready = await getJson<{ reasons: readonly { code: string }[] }>(
            daemon.url,
            '/readyz',
          );
          expect(ready.reasons.map(({ code }) => code)).toContain('GRAPH_UNAVAILABLE');
          const doctor = await runLine('doctor', '--root', root);
          expect(doctor.out).toMatch(told);
          await daemon.kill();
          daemon = await startDaemon({ root, args });
          await post(daemon, 2 * third, batches.length);
          await server.start();
          expect(await settle(daemon)).toEqual(expected);
          await expect
            .poll(async () => (await getJson<Status>(daemon.url, '/v1/status')).degraded, {
              timeout: 60_000,
            })
            .toEqual([]);
        } finally {
          await daemon.kill();
          await server.dispose();
        }
      }),
    600_000,
  );

  describe('on the server that all share', () => {
    beforeEach(() => emptyNeo4j());

    it.each(['drain:before-apply', 'drain:applied'])(
      'has an equal digest after a kill at %s, between the commit of the graph and that of the queue or before both (P3, C6)',
      (failpoint) =>
        withTemporaryDirectory(async (folder) => {
          const root = join(folder, 'root');
          await makeLabRoot(root);
          const args = withNeo4j(neo4jUri());
          const env = { MILLRACE_FAILPOINTS: `${failpoint}=crash@3` };
          const first = await startDaemon({ root, args, env });
          let from = 0;
          for (; from < batches.length; from += 1)
            if ((await postLines(first.url, batches[from]?.bodies ?? [])) !== 202) break;
          await first.exited();
          const second = await startDaemon({ root, args });
          try {
            await post(second, from, batches.length);
            expect(await settle(second)).toEqual(expected);
          } finally {
            await second.kill();
          }
        }),
    );

    it('deletes a session whole: what is left is what a root has that never met it, after a kill in the midst of it too (P4, P12)', () =>
      withTemporaryDirectory(async (folder) => {
        const without = join(folder, 'without');
        const never = await startDaemon({ root: without });
        await postLines(never.url, parentEvents);
        await waitUntilIdle(never.url, idleMs);
        const { digest } = await readDigest(never.url);
        await never.kill();
        const root = join(folder, 'root');
        await makeLabRoot(root);
        const args = withNeo4j(neo4jUri());
        const env = { MILLRACE_FAILPOINTS: 'removal:graph-gone=crash' };
        const killed = await startDaemon({ root, args, env });
        await postLines(killed.url, [...parentEvents, ...childEvents]);
        await waitUntilIdle(killed.url, idleMs);
        await fetch(`${killed.url}/v1/sessions/child`, { method: 'DELETE' }).catch(() => undefined);
        await killed.exited();
        const again = await startDaemon({ root, args });
        try {
          await expect
            .poll(async () => (await fetch(`${again.url}/v1/sessions/child`)).status, {
              timeout: 30_000,
            })
            .toBe(404);
          expect((await readDigest(again.url)).digest).toBe(digest);
        } finally {
          await again.kill();
        }
      }));

    it('moves the graph of a root into Neo4j, where the root goes on and is backed up whole (ING-542, D26, D31)', () =>
      withTemporaryDirectory(async (folder) => {
        const root = join(folder, 'root');
        const half = Math.floor(batches.length / 2);
        const before = await startDaemon({ root });
        await post(before, 0, half);
        await waitUntilIdle(before.url, idleMs);
        const { digest } = await readDigest(before.url);
        expect(await before.stop(), before.output()).toBe(0);
        const place = ['--root', root, '--set', `graph.neo4j.url=${neo4jUri()}`];
        const copied = await runLine('graph', 'copy', '--to', 'neo4j', ...place, '--json');
        expect(JSON.parse(copied.out), copied.err).toMatchObject({ ok: true, digest });
        const again = await runLine('graph', 'copy', '--to', 'neo4j', ...place);
        expect(again.err).toContain('GRAPH_COPY_FAILED');
        const after = await startDaemon({ root, args: withNeo4j(neo4jUri()) });
        try {
          expect((await readDigest(after.url)).digest).toBe(digest);
          await post(after, half, batches.length);
          expect(await settle(after)).toEqual(expected);
          const saved = join(folder, 'saved');
          const made = await runLine('backup', 'create', saved, '--url', after.url, '--json');
          expect(made.out, made.err).toContain(expected.digest);
          const drill = await runLine('backup', 'verify', saved, '--drill', '--json');
          expect(drill.out, drill.err).toContain(expected.digest);
          expect(drill.code).toBe(0);
        } finally {
          await after.kill();
        }
      }));

    it('never shows the password, and says in one line what the server refuses (ING-018)', () =>
      withTemporaryDirectory(async (folder) => {
        const root = join(folder, 'root');
        const secret = join(folder, 'secret');
        await writeFile(secret, 'hush-hush\n');
        const more = [
          '--set',
          'graph.neo4j.user=u',
          '--set',
          `graph.neo4j.password_file=${secret}`,
        ];
        const daemon = await startDaemon({ root, args: [...withNeo4j(neo4jUri()), ...more] });
        expect(await daemon.stop(), daemon.output()).toBe(0);
        expect(daemon.output()).not.toContain('hush-hush');
        const nowhere = withNeo4j('bolt://127.0.0.1:1');
        const refused = await runDaemonToItsEnd({ root: join(folder, 'other'), args: nowhere });
        expect(refused.code).not.toBe(0);
        expect(refused.output).toContain('Neo4j at bolt://127.0.0.1:1 unreachable since');
      }));
  });
});
