import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { runLine } from '../support/command-line.ts';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** A daemon that is idle after so many waits that timed out; tells the times that it was asked to wait, in ms. */
async function busyFor(count: number): Promise<{ url: string; asked: number[] }> {
  const asked: number[] = [];
  server = createServer((request, response) => {
    asked.push(Number(new URL(request.url ?? '', 'http://x').searchParams.get('timeout')));
    if (asked.length > count) {
      response.end('{"idle":true,"waited_ms":1}');
      return;
    }
    const message = 'not idle within 1 ms, 7 records are pending';
    const error = { code: 'WAIT_TIMED_OUT', message, retryable: true };
    response.writeHead(503, { 'retry-after': '1' }).end(JSON.stringify({ error }));
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

describe('millrace wait', () => {
  it('ends with 75 when its time is over, and says how much is pending (D20, D29)', async () => {
    const { url, asked } = await busyFor(Infinity);
    const ran = await runLine('wait', '--timeout', '20s', '--url', url);
    expect(ran.code).toBe(75);
    expect(ran.err).toContain('WAIT_TIMED_OUT: not idle within 1 ms, 7 records are pending');
    expect(asked).toEqual([20_000]);
    const json = await runLine('wait', '--timeout', '5s', '--json', '--url', url);
    expect(json.code).toBe(75);
    expect(JSON.parse(json.out)).toMatchObject({ error: { code: 'WAIT_TIMED_OUT' } });
  });

  it('asks again after a slice, until all is drained', async () => {
    const { url, asked } = await busyFor(2);
    expect(await runLine('wait', '--timeout', '10min', '--url', url)).toMatchObject({ code: 0 });
    expect(asked).toEqual([30_000, 30_000, 30_000]);
  });

  it('ends with 1 where records stand still, and sends to the status', async () => {
    server = createServer((_request, response) => {
      response.end('{"idle":false,"waited_ms":1,"halted":{"sessions":2,"pending":7}}');
    });
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const ran = await runLine('wait', '--url', `http://127.0.0.1:${port}`);
    expect(ran).toMatchObject({ code: 1, err: 'Next: millrace status' });
    expect(ran.out).toContain('7 records wait in 2 sessions that stand still');
  });
});
