import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { open, readdir, symlink, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runDaemonToItsEnd, startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { runLine } from '../support/command-line.ts';
import {
  getJson,
  postLines,
  readBooks,
  readDigest,
  waitUntilIdle,
} from '../support/daemon-client.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const recorded = join(
  import.meta.dirname,
  '../data/amplifier/danshapiro-freshell-normal-turn.jsonl',
);

interface Status {
  readonly degraded: readonly { readonly code: string }[];
}

function eventOf(session: string, id: string): string {
  const data = { session_id: session, timestamp: '2026-01-01T00:00:00Z' };
  return JSON.stringify({ event: 'test:event', workspace: 'w', event_id: id, data });
}

async function withDaemon(use: (daemon: ChildDaemon) => Promise<void>): Promise<void> {
  await withTemporaryDirectory(async (root) => {
    const daemon = await startDaemon({ root });
    try {
      await use(daemon);
    } finally {
      await daemon.kill();
    }
  });
}

/** A request whose body is on its way: all but its last byte is sent. */
async function slowRequest(
  url: string,
  body: string,
): Promise<{ readonly finish: () => Promise<string> }> {
  const { hostname, port, host } = new URL(url);
  const socket: Socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const head = [
    'POST /v1/events HTTP/1.1',
    `host: ${host}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ].join('\r\n');
  socket.write(`${head}\r\n\r\n${body.slice(0, -1)}`);
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  return {
    async finish() {
      socket.write(body.slice(-1));
      if (!socket.closed) await once(socket, 'close');
      return text;
    },
  };
}

describe('stopping', () => {
  it('SC-024 with fifty slow requests open answers each with its 202 or a clean refusal, and exits with 0 (P1, P10)', () =>
    withTemporaryDirectory(async (root) => {
      const daemon = await startDaemon({ root });
      const requests = await Promise.all(
        Array.from({ length: 50 }, (_, at) => slowRequest(daemon.url, eventOf(`s${at}`, `e${at}`))),
      );
      const exited = daemon.stop();
      const answers = await Promise.all(requests.map(({ finish }) => finish()));
      expect(await exited, daemon.output()).toBe(0);
      const statuses = answers.map((text) => /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
      expect(new Set(statuses).size).toBeLessThanOrEqual(2);
      let accepted = 0;
      for (const [at, status] of statuses.entries()) {
        if (status === '202') accepted += 1;
        else {
          expect(status, answers[at]).toBe('503');
          expect(answers[at]).toMatch(/\r\nretry-after: \d+/i);
        }
      }
      const again = await startDaemon({ root });
      await waitUntilIdle(again.url);
      expect(await readBooks(again.url)).toMatchObject({
        accepted,
        applied: accepted,
        residual: 0,
      });
      await again.kill();
    }));
});

describe('a root', () => {
  it('SC-044 SC-048 has one daemon, whatever it is called; and one that was killed holds it no more (P6)', () =>
    withTemporaryDirectory(async (folder) => {
      const root = join(folder, 'root');
      const first = await startDaemon({ root });
      await symlink(root, join(folder, 'other-name'));
      const second = await runDaemonToItsEnd({ root: join(folder, 'other-name') });
      expect(second.code).toBe(75);
      expect(second.output).toContain(`(pid ${first.pid})`);
      expect(await postLines(first.url, [eventOf('s', 'e')])).toBe(202);
      await first.kill();
      const third = await startDaemon({ root: join(folder, 'other-name') });
      await waitUntilIdle(third.url);
      expect(await readBooks(third.url)).toMatchObject({ accepted: 1, residual: 0 });
      await third.kill();
    }));
});

describe('a damaged state store', () => {
  it('SC-052 ends no start in native code: it is looked at apart, set aside, and the start says so', () =>
    withTemporaryDirectory(async (root) => {
      const first = await startDaemon({ root });
      const bodies = Array.from({ length: 20 }, (_, at) => eventOf(`s${at % 3}`, `e${at}`));
      expect(await postLines(first.url, bodies)).toBe(202);
      await waitUntilIdle(first.url);
      expect(await first.stop(), first.output()).toBe(0);
      const pages = await open(join(root, 'state/daemon/data.mdb'), 'r+');
      await pages.write(
        createHash('shake256', { outputLength: 8192 }).update('x').digest(),
        0,
        8192,
        0,
      );
      await pages.close();
      const second = await startDaemon({ root });
      const { degraded } = await getJson<Status>(second.url, '/v1/status');
      expect(degraded.map(({ code }) => code)).toEqual(['STATE_SET_ASIDE']);
      expect(await readdir(join(root, 'state'))).toEqual(
        expect.arrayContaining(['daemon', expect.stringMatching(/^daemon\.set-aside\./)]),
      );
      // Ids are read again from the logs.
      expect(await postLines(second.url, [...bodies, eventOf('s0', 'new')])).toBe(202);
      await waitUntilIdle(second.url);
      expect(await readBooks(second.url)).toMatchObject({ accepted: 21, applied: 21, residual: 0 });
      expect(await second.stop(), second.output()).toBe(0);
    }));

  it('is not blamed for a start that was killed while it was opened', () =>
    withTemporaryDirectory(async (root) => {
      const first = await startDaemon({ root });
      expect(await postLines(first.url, [eventOf('s', 'e')])).toBe(202);
      await first.kill();
      await writeFile(join(root, 'state/daemon.opening'), '');
      const second = await startDaemon({ root });
      const { degraded } = await getJson<Status>(second.url, '/v1/status');
      expect(degraded).toEqual([]);
      expect(await readdir(join(root, 'state'))).toEqual(['daemon']);
      await second.kill();
    }));
});

describe('the graph', () => {
  it('SC-020 is the same after the same log was posted twice and after every restart between (P5)', () =>
    withTemporaryDirectory(async (root) => {
      let daemon = await startDaemon({ root });
      const digests = new Set<string>();
      for (let time = 0; time < 2; time += 1) {
        const posted = await runLine('post', recorded, '--url', daemon.url, '--workspace', 'w');
        expect(posted.code, posted.err).toBe(0);
        await waitUntilIdle(daemon.url);
        digests.add((await readDigest(daemon.url)).digest);
        await daemon.kill();
        daemon = await startDaemon({ root });
      }
      digests.add((await readDigest(daemon.url)).digest);
      expect(digests.size).toBe(1);
      await daemon.kill();
    }));
});

describe('what is shown', () => {
  it('SC-065 SC-067 gauges tell what the books tell, and as many series for hundreds of sessions as for one', () =>
    withDaemon(async (daemon) => {
      const series = async (): Promise<readonly string[]> => {
        const answer = await fetch(`${daemon.url}/metrics`);
        return (await answer.text()).split('\n').filter((line) => line.startsWith('millrace_'));
      };
      expect(await postLines(daemon.url, [eventOf('first', 'e')])).toBe(202);
      await waitUntilIdle(daemon.url);
      const before = await series();
      const bodies = Array.from({ length: 300 }, (_, at) => eventOf(`s${at}`, `e${at}`));
      expect(await postLines(daemon.url, bodies)).toBe(202);
      await waitUntilIdle(daemon.url);
      const after = await series();
      expect(after.length).toBe(before.length);
      expect(after.join('\n')).not.toMatch(/s299|w~/);
      const books = await readBooks(daemon.url);
      expect(after).toContain(`millrace_queue_events ${books.pending}`);
      expect(after).toContain(`millrace_conservation_residual_events ${books.residual}`);
    }));

  it('SC-066 a producer without rights of an operator sees that an event of its session has died', () =>
    withDaemon(async (daemon) => {
      const made = await runLine(
        'tokens',
        'add',
        'boss',
        '--scope',
        'ops:read',
        'ops:write',
        'ingest:read',
        'ingest:write',
        '--url',
        daemon.url,
        '--json',
      );
      expect(made.code, made.err).toBe(0);
      const boss = (JSON.parse(made.out) as { readonly token: string }).token;
      const client = await runLine(
        'tokens',
        'add',
        'agent',
        '--scope',
        'ingest:read',
        'ingest:write',
        '--url',
        daemon.url,
        '--token',
        boss,
        '--json',
      );
      const { token } = JSON.parse(client.out) as { readonly token: string };
      const authorization = `Bearer ${token}`;
      const data = { session_id: 's', parent: 's', timestamp: '2026-01-01T00:00:00Z' };
      const posted = await fetch(`${daemon.url}/v1/events`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ event: 'session:fork', workspace: 'w', data }),
      });
      expect(posted.status).toBe(202);
      const position = ((await posted.json()) as { readonly position: string }).position;
      expect(position).toBeDefined();
      await expect
        .poll(async () => {
          const answer = await fetch(`${daemon.url}/v1/sessions/s?workspace=w`, {
            headers: { authorization },
          });
          return ((await answer.json()) as { readonly dead: number }).dead;
        })
        .toBe(1);
    }));
});
