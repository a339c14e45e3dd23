import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { runDaemonToItsEnd, startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { runJson, runLine } from '../support/command-line.ts';
import {
  getJson,
  postLines,
  readBooks,
  readDigest,
  waitUntilIdle,
  type Digest,
} from '../support/daemon-client.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { makeWorkload } from '../support/workload.ts';

const repository = join(import.meta.dirname, '../..');
const sessions = join(repository, 'test/data/amplifier');

async function withDaemon<T>(
  use: (daemon: ChildDaemon) => Promise<T>,
  args: readonly string[] = [],
): Promise<T> {
  return withTemporaryDirectory(async (root) => {
    const daemon = await startDaemon({ root, args });
    try {
      return await use(daemon);
    } finally {
      await daemon.kill();
    }
  });
}

function post(
  daemon: ChildDaemon,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  return fetch(`${daemon.url}/v1/events`, {
    method: 'POST',
    headers,
    body: body as Uint8Array<ArrayBuffer> | string,
  });
}

describe('a daemon', () => {
  it('takes events, drains them, tells the books and the digest, and stops cleanly (P4, P10)', async () => {
    await withDaemon(async (daemon) => {
      const [first] = makeWorkload({ seed: 3, sessions: 1, turns: 2, eventsPerBatch: 100 });
      const bodies = first?.bodies ?? [];
      expect(await postLines(daemon.url, bodies)).toBe(202);
      await waitUntilIdle(daemon.url);
      expect(await readBooks(daemon.url)).toMatchObject({
        accepted: bodies.length,
        applied: bodies.length,
        pending: 0,
        dead: 0,
        residual: 0,
      });
      expect((await readDigest(daemon.url)).nodes).toBeGreaterThan(bodies.length);
      expect(await daemon.stop(), daemon.output()).toBe(0);
      expect(existsSync(join(daemon.root, 'daemon.json'))).toBe(false);
    });
  });

  it('gives one digest for events one by one, as NDJSON, gzipped, sent twice, and beside broken lines (P5, P12)', async () => {
    const [first] = makeWorkload({ seed: 4, sessions: 1, turns: 3, eventsPerBatch: 1000 });
    const bodies = first?.bodies ?? [];
    const ndjson = { 'content-type': 'application/x-ndjson' };
    const ways: readonly ((daemon: ChildDaemon) => Promise<void>)[] = [
      async (daemon) => {
        for (const body of bodies)
          expect((await post(daemon, body, { 'content-type': 'application/json' })).status).toBe(
            202,
          );
      },
      async (daemon) => {
        for (let time = 0; time < 2; time++) expect(await postLines(daemon.url, bodies)).toBe(202);
      },
      async (daemon) => {
        const packed = gzipSync(bodies.join('\n'));
        const answer = await post(daemon, packed, { ...ndjson, 'content-encoding': 'gzip' });
        expect(answer.status).toBe(202);
      },
      async (daemon) => {
        const broken = bodies.flatMap((body, at) => (at % 5 === 2 ? ['{"event":', body] : [body]));
        expect(await postLines(daemon.url, broken)).toBe(207);
      },
    ];
    const digests: Digest[] = [];
    for (const way of ways)
      await withDaemon(async (daemon) => {
        await way(daemon);
        await waitUntilIdle(daemon.url);
        digests.push(await readDigest(daemon.url));
      });
    expect(new Set(digests.map(({ digest }) => digest)).size).toBe(1);
  });

  it('refuses a second daemon on its root in one line, and goes on itself', async () => {
    await withDaemon(async (daemon) => {
      const second = await runDaemonToItsEnd({ root: daemon.root });
      expect(second.code).toBe(75);
      expect(second.output.trim().split('\n')).toEqual([
        expect.stringContaining(`held by the daemon at ${daemon.url} (pid ${daemon.pid})`),
      ]);
      expect((await getJson<{ status: string }>(daemon.url, '/readyz')).status).toBe('ok');
    });
  });

  it('starts again at once after kill -9, with everything it acknowledged (P1)', async () => {
    await withTemporaryDirectory(async (root) => {
      const first = await startDaemon({ root });
      const [batch] = makeWorkload({ seed: 5, sessions: 1, turns: 1, eventsPerBatch: 100 });
      const bodies = batch?.bodies ?? [];
      expect(await postLines(first.url, bodies)).toBe(202);
      await first.kill();
      const second = await startDaemon({ root });
      await waitUntilIdle(second.url);
      expect(await readBooks(second.url)).toMatchObject({ accepted: bodies.length, residual: 0 });
      expect(await second.stop(), second.output()).toBe(0);
    });
  });

  it('stops in order while clients post, and the next start has all that was acknowledged (P1, P10)', async () => {
    const batches = makeWorkload({ seed: 6, sessions: 8, turns: 10, eventsPerBatch: 5 });
    await withTemporaryDirectory(async (root) => {
      const first = await startDaemon({ root });
      let acknowledged = 0;
      const posting = (async () => {
        for (const { bodies } of batches) {
          if ((await postLines(first.url, bodies)) !== 202) return;
          acknowledged += bodies.length;
        }
      })();
      await expect.poll(() => acknowledged, { interval: 5 }).toBeGreaterThan(50);
      const began = Date.now();
      expect(await first.stop(), first.output()).toBe(0);
      expect(Date.now() - began).toBeLessThan(15_000);
      await posting;
      const second = await startDaemon({ root });
      await waitUntilIdle(second.url);
      const { accepted, residual, pending } = await readBooks(second.url);
      expect({ residual, pending }).toEqual({ residual: 0, pending: 0 });
      expect(accepted).toBeGreaterThanOrEqual(acknowledged);
      await second.kill();
    });
  });

  it('exits at once at a second signal, and loses nothing by it (P10)', async () => {
    await withTemporaryDirectory(async (root) => {
      const first = await startDaemon({ root });
      const [batch] = makeWorkload({ seed: 7, sessions: 1, turns: 20, eventsPerBatch: 1000 });
      const bodies = batch?.bodies ?? [];
      expect(await postLines(first.url, bodies)).toBe(202);
      process.kill(first.pid, 'SIGTERM');
      process.kill(first.pid, 'SIGINT');
      expect([0, 75]).toContain(await first.exited());
      const second = await startDaemon({ root });
      await waitUntilIdle(second.url);
      expect(await readBooks(second.url)).toMatchObject({ accepted: bodies.length, residual: 0 });
      await second.kill();
    });
  });

  it('stops admitting and exits with 75 when its root lock is taken away (P6, ING-310)', async () => {
    await withDaemon(async (daemon) => {
      await rm(join(daemon.root, '.maintenance', 'root.lock'));
      const deadline = Date.now() + 20_000;
      let isLive = true;
      while (isLive && Date.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        isLive = await fetch(`${daemon.url}/livez`).then(
          ({ ok }) => ok,
          () => false,
        );
      }
      expect(isLive).toBe(false);
      expect(await daemon.exited(), daemon.output()).toBe(75);
      expect(daemon.output()).toContain('TENURE_LOST');
    });
  });

  it('does not listen beyond loopback before there is a token, which can be made without a daemon', async () => {
    await withTemporaryDirectory(async (folder) => {
      const root = join(folder, 'root');
      const listen = ['--set', 'http.listen=0.0.0.0:0'];
      const refused = await runDaemonToItsEnd({ root, args: listen });
      expect(refused.code).toBe(78);
      const made = await runJson<{ token: string }>(
        'tokens',
        'add',
        'all',
        '--root',
        root,
        '--scope',
        'ingest:write',
        'ingest:read',
        'ops:read',
        'ops:write',
      );
      const daemon = await startDaemon({ root, args: listen });
      try {
        const url = daemon.url.replace('0.0.0.0', '127.0.0.1');
        expect((await fetch(`${url}/v1/sessions`)).status).toBe(401);
        const shown = await runLine('sessions', 'list', '--url', url, '--token', made.token);
        expect(shown).toMatchObject({ code: 0, out: 'none' });
        expect((await runLine('sessions', 'list', '--url', url)).code).toBe(77);
        expect(daemon.output()).not.toContain(made.token);
      } finally {
        await daemon.kill();
      }
    });
  });

  it('names all problems of its configuration and exits with 78', async () => {
    await withTemporaryDirectory(async (root) => {
      const config = join(root, 'millrace.yaml');
      await writeFile(config, 'queue:\n  fsnc: none\nlog.level: loud\n');
      const refused = await runDaemonToItsEnd({
        root: join(root, 'r'),
        args: ['--config', config],
      });
      expect(refused.code).toBe(78);
      expect(refused.output).toContain('did you mean queue.fsync?');
      expect(refused.output).toContain('log.level');
      expect(existsSync(join(root, 'r'))).toBe(false);
    });
  });

  it('refuses failpoints on a root that is no lab root (ING-021)', async () => {
    await withTemporaryDirectory(async (root) => {
      const env = { MILLRACE_FAILPOINTS: 'checkpoint=crash' };
      const refused = await runDaemonToItsEnd({ root, env });
      expect(refused).toMatchObject({
        code: 78,
        output: expect.stringContaining('FAILPOINTS_REFUSED'),
      });
    });
  });
});

describe('the recorded sessions', () => {
  it('go in by millrace post, and a second post adds nothing (P5)', async () => {
    await withDaemon(async (daemon) => {
      const at = ['--url', daemon.url, '--workspace', 'demo'];
      const file = join(sessions, 'danshapiro-freshell-normal-turn.jsonl');
      const lines = (await readFile(file, 'utf8')).trim().split('\n').length;
      const first = await runJson<{ files: readonly object[] }>('post', file, ...at);
      expect(first.files[0]).toMatchObject({ lines, queued: lines, duplicates: 0, rejected: 0 });
      expect((await runLine('wait', '--url', daemon.url)).out).toBe('idle');
      const before = await runJson<Digest>('graph', 'digest', '--url', daemon.url);
      const again = await runJson<{ files: readonly object[] }>('post', file, ...at);
      expect(again.files[0]).toMatchObject({ queued: 0, duplicates: lines });
      expect((await runLine('wait', '--url', daemon.url)).code).toBe(0);
      expect(await runJson<Digest>('graph', 'digest', '--url', daemon.url)).toEqual(before);
    });
  });

  it('are one graph, however the daemon is killed between the files', async () => {
    const files = [
      'danshapiro-freshell-normal-turn.jsonl',
      'danshapiro-freshell-steering-injection.jsonl',
      'made-nested-delegation-two-parallel.ndjson',
    ];
    const digests: Digest[] = [];
    for (const isKilled of [false, true])
      await withTemporaryDirectory(async (root) => {
        let daemon = await startDaemon({ root });
        for (const name of files) {
          const posted = await runLine(
            'post',
            join(sessions, name),
            '--url',
            daemon.url,
            '--workspace',
            'w',
          );
          expect(posted.code, posted.err).toBe(0);
          if (!isKilled) continue;
          await daemon.kill();
          daemon = await startDaemon({ root });
        }
        await waitUntilIdle(daemon.url);
        digests.push(await readDigest(daemon.url));
        await daemon.kill();
      });
    expect(digests[1]).toEqual(digests[0]);
  });
});

describe('an old Node', () => {
  it('is told in one sentence what is needed (D2)', () => {
    const text = execFileSync('cat', [join(repository, 'bin/millrace.js')], { encoding: 'utf8' });
    const asOld = text.replace('process.versions.node', "'20.11.0'");
    const ran = spawnSync(process.execPath, ['--input-type=module', '--eval', asOld], {
      encoding: 'utf8',
    });
    expect(ran.status).toBe(78);
    expect(ran.stderr.trim().split('\n')).toHaveLength(1);
    expect(ran.stderr).toContain('Node.js 24 or newer');
  });
});
