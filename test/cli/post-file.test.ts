import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import type { Client } from '../../src/cli/client.ts';
import { postFile, type PostOptions, type RejectedLine } from '../../src/cli/post/post-file.ts';
import type { Printer } from '../../src/cli/print.ts';
import { runLine } from '../support/command-line.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-post-'));
const path = join(folder, 'session.jsonl');

afterEach(() => {
  rmSync(path, { force: true });
});

const printer: Printer = {
  out: () => undefined,
  err: () => undefined,
  bytes: () => Promise.resolve(),
  progress: () => undefined,
};

/** Takes what a daemon would take, and gathers it. */
function gathering(bodies: string[]): Client {
  return {
    url: 'http://gathering',
    call: () => Promise.resolve(undefined),
    stream: () => Promise.reject(new Error('not asked')),
    send: (_method, _path, payload) => {
      const lines = Buffer.from(payload ?? [])
        .toString('utf8')
        .split('\n');
      bodies.push(...lines);
      const results = lines.map((_, index) => ({ index, status: 'queued' }));
      return Promise.resolve(new Response(JSON.stringify({ results }), { status: 202 }));
    },
  };
}

async function post(
  bytes: Uint8Array | string,
  more: Partial<PostOptions> = {},
): Promise<{
  bodies: string[];
  rejects: RejectedLine[];
  result: Awaited<ReturnType<typeof postFile>>;
}> {
  const bodies: string[] = [];
  const rejects: RejectedLine[] = [];
  writeFileSync(path, bytes);
  const onReject = (reject: RejectedLine): void => void rejects.push(reject);
  const options = { clock: systemClock, printer, workspace: 'w', onReject, ...more };
  return { result: await postFile(gathering(bodies), path, options), bodies, rejects };
}

function event(n: number, text = 'x'): string {
  return JSON.stringify({
    event: 'a:b',
    data: { session_id: 's', timestamp: '2026-01-01T00:00:00Z', n, text },
  });
}

describe('post of damaged files', () => {
  it('takes CRLF, a byte order mark, U+2028, NULs around records and blank lines for what they are', async () => {
    const bytes = Buffer.from(
      `\uFEFF${event(1)}\r\n\0\0\0${event(2, 'a\u2028b\u2029c')}\n\r\n  \n${event(3)}\0\0\n`,
    );
    const { result, bodies } = await post(bytes);
    expect(result).toMatchObject({ lines: 5, queued: 3, skipped: 2, rejected: 0 });
    expect(bodies[1]).toContain('a\u2028b\u2029c');
  });

  it('tells each bad line by number and byte offset, and sends the rest', async () => {
    const bad: readonly Uint8Array[] = [
      Buffer.from(event(1).slice(0, 40) + event(2)),
      Buffer.from(event(3) + event(4)),
      Buffer.concat([
        Buffer.from('{"event":"a:b","data":{"x":"'),
        Uint8Array.of(0xc3, 0x28),
        Buffer.from('"}}'),
      ]),
      Buffer.alloc(600),
      Buffer.from('plain words'),
      Buffer.from('[1,2]'),
      Buffer.from('{"neither":"nor"}'),
    ];
    const good = Buffer.from(`${event(9)}\n`);
    const parts = bad.flatMap((line) => [good, line, Buffer.from('\n')]);
    const torn = Buffer.from(event(5).slice(0, 30));
    const bytes = Buffer.concat([...parts, good, torn]);
    const { result, bodies, rejects } = await post(bytes);
    expect(result).toMatchObject({ lines: 16, queued: 8, rejected: 8 });
    expect(bodies).toHaveLength(8);
    expect(rejects.map(({ line }) => line)).toEqual([2, 4, 6, 8, 10, 12, 14, 16]);
    for (const [at, { offset, length, bytes: kept }] of rejects.entries()) {
      const original = bad[at] ?? torn;
      expect(Buffer.from(bytes.subarray(offset, offset + length))).toEqual(Buffer.from(original));
      expect(Buffer.from(kept)).toEqual(Buffer.from(original));
    }
    expect(rejects.at(-1)?.message).toContain('ends within this line');
  });

  it('passes over a line of 100 MB without holding it, and keeps it in the file of rejects', async () => {
    const file = openSync(path, 'w');
    const piece = Buffer.alloc(1024 * 1024, 'x');
    writeSync(file, `${event(1)}\n`);
    for (let n = 0; n < 100; n += 1) writeSync(file, piece);
    writeSync(file, `\n${event(2)}\n`);
    closeSync(file);
    const bodies: string[] = [];
    const rejects: RejectedLine[] = [];
    const result = await postFile(gathering(bodies), path, {
      clock: systemClock,
      printer,
      workspace: 'w',
      onReject: (reject) => void rejects.push(reject),
    });
    expect(result).toMatchObject({ lines: 3, queued: 2, rejected: 1 });
    expect(rejects[0]).toMatchObject({
      line: 2,
      length: 100 * 1024 * 1024,
      code: 'RECORD_TOO_LARGE',
    });
    expect(rejects[0]?.bytes.length).toBeLessThan(2048);
  });

  it('takes every line as the format that is named, and tells how many of each there were', async () => {
    const row = JSON.stringify({
      type: 'user',
      message: 'go',
      sessionId: 's',
      timestamp: '2026-01-01T00:00:00Z',
    });
    expect((await post(`${row}\n`)).result.formats).toEqual({ 'claude-code': 1 });
    const forced = await post(`${row}\n`, { format: 'amplifier' });
    expect(forced.result).toMatchObject({ queued: 0, rejected: 1 });
  });

  it('names the project of a file without a workspace by its folder', async () => {
    const row = JSON.stringify({
      type: 'user',
      message: 'go',
      sessionId: 's',
      cwd: '/home/dev/demo',
      timestamp: '2026-01-01T00:00:00Z',
    });
    const { bodies } = await post(`${row}\n`, { workspace: undefined });
    expect(bodies.every((body) => body.includes('"workspace":"-home-dev-demo"'))).toBe(true);
  });
});

describe('post on the command line', () => {
  it('refuses a format that is none', async () => {
    const { code, err } = await runLine('post', path, '--format', 'papyrus');
    expect(code).toBe(2);
    expect(err).toContain('claude-code');
  });
});

describe('post of a long file', () => {
  const lines = Array.from({ length: 3700 }, (_, n) => event(n));

  it('reads on while a batch is on its way, and sends the next when that is answered', async () => {
    const bodies: string[] = [];
    const inner = gathering(bodies);
    const answers: (() => void)[] = [];
    const client: Client = {
      ...inner,
      async send(...order) {
        await new Promise<void>((resolve) => answers.push(resolve));
        return inner.send(...order);
      },
    };
    writeFileSync(path, lines.join('\n'));
    const posted = postFile(client, path, { clock: systemClock, printer, workspace: 'w' });
    for (let batch = 1; batch <= 4; batch += 1) {
      await expect.poll(() => answers.length).toBe(batch);
      answers[batch - 1]?.();
    }
    expect(await posted).toMatchObject({ lines: 3700, queued: 3700 });
    const order = bodies.map((body) => (JSON.parse(body) as { data: { n: number } }).data.n);
    expect(order).toEqual(lines.map((_, n) => n));
  });

  it('ends with what went wrong on the way, and sends nothing behind it', async () => {
    let sent = 0;
    const client: Client = {
      ...gathering([]),
      send: () => {
        sent += 1;
        return Promise.resolve(
          new Response('{"error":{"code":"UNAUTHENTICATED"}}', { status: 401 }),
        );
      },
    };
    writeFileSync(path, lines.join('\n'));
    const posted = postFile(client, path, { clock: systemClock, printer, workspace: 'w' });
    await expect(posted).rejects.toThrow(/401/);
    expect(sent).toBe(1);
  });
});
