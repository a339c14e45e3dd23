import { createServer, type IncomingMessage, type Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '#base';
import { createClient } from '../../src/cli/client.ts';
import { sendBatch } from '../../src/cli/post/post-batch.ts';
import type { PostOptions } from '../../src/cli/post/post-file.ts';

interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

let server: Server | undefined;
afterEach(() => server?.close());

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** A daemon that answers as it is told; `undefined` breaks the connection. */
async function answering(
  reply: (lines: readonly string[], count: number) => Reply | undefined,
): Promise<string> {
  let count = 0;
  const made = createServer((request, response) => {
    void bodyOf(request).then((text) => {
      count += 1;
      const answer = reply(text.split('\n'), count);
      if (answer === undefined) return request.socket.destroy();
      response.writeHead(answer.status, { connection: 'close', ...answer.headers });
      return response.end(
        typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body),
      );
    });
  });
  server = made;
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  const address = made.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

/** Sleeps at once, and remembers for how long. */
function hurried(): { readonly options: PostOptions; readonly slept: number[] } {
  const slept: number[] = [];
  let now = 0;
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    sleep: (ms) => {
      slept.push(ms);
      now += ms;
      return Promise.resolve();
    },
    after: () => ({ cancel: () => undefined }),
    endOfTurn: () => Promise.resolve(),
  };
  const silent = (): void => undefined;
  const printer = { out: silent, err: silent, progress: silent, bytes: () => Promise.resolve() };
  return { options: { clock, printer }, slept };
}

const stored = (lines: readonly string[]): Reply => ({
  status: 202,
  body: { results: lines.map(() => ({ status: 'queued' })) },
});

describe('sending a batch', () => {
  it('waits as long as Retry-After says, and over a broken connection, until it is stored (D13)', async () => {
    const url = await answering((lines, count) => {
      if (count === 1)
        return {
          status: 503,
          headers: { 'retry-after': '3' },
          body: { error: { code: 'DRAINING' } },
        };
      if (count === 2) return undefined;
      if (count === 3)
        return { status: 429, headers: { 'retry-after': '1' }, body: '<html>a proxy</html>' };
      return stored(lines);
    });
    const { options, slept } = hurried();
    const sent = await sendBatch(createClient({ url }), ['{}', '{}'], options);
    expect(sent).toEqual({ queued: 2, duplicates: 0, rejects: [] });
    expect(slept).toEqual([3000, 500, 1000]);
  });

  it('gives up after its patience, with the trouble that stayed', async () => {
    const url = await answering(() => ({
      status: 503,
      body: { error: { code: 'QUEUE_FULL', message: 'full' } },
    }));
    const { options, slept } = hurried();
    await expect(sendBatch(createClient({ url }), ['{}'], options)).rejects.toEqual(
      expect.objectContaining({ code: 'QUEUE_FULL', disposition: 'retry' }),
    );
    const waited = slept.reduce((sum, ms) => sum + ms, 0);
    expect(waited).toBeGreaterThan(60_000);
    expect(waited).toBeLessThanOrEqual(120_000);
  });

  it('sends in halves what is above the limits of the daemon, rejects in their places', async () => {
    const url = await answering((lines) => {
      if (lines.length > 2)
        return { status: 413, body: { error: { code: 'BATCH_TOO_LARGE', message: 'large' } } };
      const at = lines.indexOf('bad');
      if (at < 0) return stored(lines);
      const error = { index: at, code: 'EVENT_INVALID', message: 'no' };
      const results = lines.map((_, index) => ({
        index,
        status: index === at ? 'rejected' : 'queued',
      }));
      return { status: 207, body: { rejects: [error], results } };
    });
    const sent = await sendBatch(
      createClient({ url }),
      ['a', 'b', 'c', 'd', 'bad', 'f', 'g'],
      hurried().options,
    );
    expect(sent.queued).toBe(6);
    expect(sent.rejects.map(({ index, code }) => [index, code])).toEqual([[4, 'EVENT_INVALID']]);
  });

  it('counts the whole batch as refused when one reason refuses all of it', async () => {
    const url = await answering(() => ({
      status: 415,
      body: { error: { code: 'MEDIA_TYPE_UNSUPPORTED', message: 'm' } },
    }));
    const sent = await sendBatch(createClient({ url }), ['a', 'b'], hurried().options);
    expect(sent.rejects.map(({ index, code }) => `${index} ${code}`)).toEqual([
      '0 MEDIA_TYPE_UNSUPPORTED',
      '1 MEDIA_TYPE_UNSUPPORTED',
    ]);
  });

  it('stops at once when the token is wrong or the daemon has a defect', async () => {
    for (const [status, code, exit] of [
      [401, 'UNAUTHENTICATED', 'reject'],
      [500, 'INTERNAL_ERROR', 'corrupt'],
    ] as const) {
      const url = await answering(() => ({ status, body: { error: { code, message: 'm' } } }));
      await expect(sendBatch(createClient({ url }), ['a'], hurried().options)).rejects.toEqual(
        expect.objectContaining({ code, disposition: exit }),
      );
      server?.close();
    }
  });
});
