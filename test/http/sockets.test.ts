import { afterEach, describe, expect, it } from 'vitest';
import { event } from '../ingest/ingest-fixture.ts';
import { until } from '../support/turn.ts';
import { httpBench, type HttpBench, type HttpBenchOptions } from './http-fixture.ts';
import { head, postHead, rawClient, type RawClient } from './raw-client.ts';

interface Listening extends HttpBench {
  readonly url: string;
  connect(): Promise<RawClient>;
}

const opened: HttpBench[] = [];

async function listening(options: HttpBenchOptions = {}): Promise<Listening> {
  const bench = await httpBench(options);
  opened.push(bench);
  const { url } = await bench.server.listen({ host: '127.0.0.1', port: 0 });
  return { ...bench, url, connect: () => rawClient(url) };
}

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

/** All memory for requests is free again. */
function expectNothingReserved({ ingest }: HttpBench): void {
  const all = 4 * 1024 * 1024;
  expect(() => ingest.reserve(all)).not.toThrow();
  ingest.release(all);
}

function hasReserved(bench: HttpBench): boolean {
  try {
    expectNothingReserved(bench);
    return false;
  } catch {
    return true;
  }
}

function expectEnvelope(text: string, status: number, code: string): void {
  expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  const body = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as {
    error: { code: string };
    request_id: string;
  };
  expect(body.error.code).toBe(code);
  expect(body.request_id).toBeTypeOf('string');
}

const body = event();

describe('real connections', () => {
  it('are kept and reused, with chunked bodies and plain ones', async () => {
    const bench = await listening();
    const client = await bench.connect();
    client.socket.write(postHead(Buffer.byteLength(body)) + body);
    await client.received(/"queued"/);
    client.socket.write(postHead(undefined, 'Transfer-Encoding: chunked'));
    for (const part of [body.slice(0, 10), body.slice(10)])
      client.socket.write(`${part.length.toString(16)}\r\n${part}\r\n`);
    client.socket.write('0\r\n\r\n');
    await client.received(/"queued"[\s\S]*"queued"/);
    client.socket.destroy();
    expect(await bench.stored()).toHaveLength(2);
  });

  it('get 503 with Retry-After, not 408, for a head that comes too slowly (ING-022)', async () => {
    const bench = await listening({ timeouts: { headersMs: 60, requestMs: 100, checkMs: 20 } });
    const client = await bench.connect();
    client.socket.write('POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n');
    const text = await client.ended();
    expectEnvelope(text, 503, 'REQUEST_INTERRUPTED');
    expect(text).toMatch(/Retry-After: \d+\r\n/);
  });

  it('get 503 with Retry-After, not 408, for a body that comes too slowly (ING-022)', async () => {
    const bench = await listening({ timeouts: { headersMs: 60, requestMs: 100, checkMs: 20 } });
    const client = await bench.connect();
    client.socket.write(postHead(Buffer.byteLength(body)) + body.slice(0, 20));
    const text = await client.ended();
    expectEnvelope(text, 503, 'REQUEST_INTERRUPTED');
    expect(text).toMatch(/retry-after: \d+\r\n/i);
    expect(await bench.stored()).toEqual([]);
    expectNothingReserved(bench);
  });

  it.each([
    ['no HTTP at all', 'hello\r\n\r\n', 400],
    ['a TLS hello', '\u0016\u0003\u0001\u0002\u0000\u0001', 400],
    ['two lengths', postHead(5, 'Content-Length: 6'), 400],
    ['a length and chunks', postHead(5, 'Transfer-Encoding: chunked'), 400],
    ['a negative length', postHead(-5), 400],
    ['no Host', head(['POST /v1/events HTTP/1.1', 'Content-Length: 0']), 400],
    ['endless headers', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`, 431],
  ])('refuse %s without a crash, and close', async (_, bytes, status) => {
    const bench = await listening();
    const client = await bench.connect();
    client.socket.write(bytes);
    expect(await client.ended()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const next = await bench.connect();
    next.socket.write(postHead(Buffer.byteLength(body)) + body);
    await next.received(/"queued"/);
    next.socket.destroy();
  });

  it('refuse a chunk that is none, and store nothing of it', async () => {
    const bench = await listening();
    const client = await bench.connect();
    client.socket.write(postHead(undefined, 'Transfer-Encoding: chunked'));
    client.socket.write(`${body.length.toString(16)}\r\n${body}\r\nnonsense\r\n`);
    expectEnvelope(await client.ended(), 400, 'REQUEST_MALFORMED');
    expect(await bench.stored()).toEqual([]);
    expectNothingReserved(bench);
  });

  it('never give the answer of broken bytes to the sound request before them', async () => {
    const bench = await listening();
    const release = bench.holdSyncs();
    const client = await bench.connect();
    client.socket.write(`${postHead(Buffer.byteLength(body))}${body}nonsense\r\n\r\n`);
    const text = await client.ended();
    release();
    expect(text).not.toMatch(/HTTP\/1.1 4/);
    await until('the sound request is stored', () => bench.appended.length === 1);
  });

  it('that break in the middle of a body store nothing and give their memory back', async () => {
    const bench = await listening();
    for (const cut of [0, 1, 20, body.length - 1]) {
      const client = await bench.connect();
      client.socket.write(postHead(Buffer.byteLength(body)) + body.slice(0, cut));
      await new Promise((resolve) => {
        client.socket.end(() => resolve(undefined));
      });
      client.socket.destroy();
    }
    const last = await bench.connect();
    last.socket.write(postHead(Buffer.byteLength(body)) + body);
    await last.received(/"queued"/);
    last.socket.destroy();
    await until('their memory is back', () => !hasReserved(bench));
    expect(await bench.stored()).toHaveLength(1);
  });

  it('that break after the body cancel nothing (ING-917)', async () => {
    const bench = await listening();
    const release = bench.holdSyncs();
    const client = await bench.connect();
    client.socket.write(postHead(Buffer.byteLength(body)) + body);
    await until('the request is in the queue', () => hasReserved(bench));
    client.socket.resetAndDestroy();
    release();
    await until('it is stored all the same', () => bench.appended.length === 1);
    expect(await bench.stored()).toHaveLength(1);
  });

  it('see the refusal of a body that is too large although they were still sending it', async () => {
    const bench = await listening();
    const client = await bench.connect();
    const bytes = 8 * 1024 * 1024;
    client.socket.write(postHead(bytes));
    client.socket.write(Buffer.alloc(bytes, 0x20));
    const text = await client.ended();
    expectEnvelope(text, 413, 'BATCH_TOO_LARGE');
    expectNothingReserved(bench);
  });

  it('that ask before they send are told before they send (ING-914)', async () => {
    const bench = await listening();
    const large = await bench.connect();
    large.socket.write(postHead(8 * 1024 * 1024, 'Expect: 100-continue'));
    expectEnvelope(await large.ended(), 413, 'BATCH_TOO_LARGE');
    const sound = await bench.connect();
    sound.socket.write(postHead(Buffer.byteLength(body), 'Expect: 100-continue'));
    await sound.received(/^HTTP\/1.1 100 Continue\r\n\r\n$/);
    sound.socket.write(body);
    await sound.received(/HTTP\/1.1 202 /);
    sound.socket.destroy();
    await bench.tokens.add({ name: 'agents', scopes: ['ingest:write'] });
    const unknown = await bench.connect();
    unknown.socket.write(postHead(Buffer.byteLength(body), 'Expect: 100-continue'));
    await unknown.received(/^HTTP\/1.1 401 /);
    expect(unknown.text()).not.toContain('100 Continue');
    unknown.socket.destroy();
  });

  it('tell a verb when they break', async () => {
    const bench = await listening();
    const client = await bench.connect();
    client.socket.write(head(['GET /v1/wait HTTP/1.1', 'Host: 127.0.0.1']));
    await until('the verb waits', () => bench.callers.length === 1);
    expect(bench.callers[0]?.signal.aborted).toBe(false);
    client.socket.destroy();
    await until('the verb is told', () => bench.callers[0]?.signal.aborted === true);
  });
});

describe('closing', () => {
  it('answers what is in flight and closes what is idle (P10)', async () => {
    const bench = await listening();
    const idle = await bench.connect();
    idle.socket.write(postHead(Buffer.byteLength(body)) + body);
    await idle.received(/"queued"/);
    const release = bench.holdSyncs();
    const busy = await bench.connect();
    busy.socket.write(postHead(Buffer.byteLength(body)) + body);
    await until('its body is read', () => hasReserved(bench));
    const closing = bench.server.close(10_000);
    await idle.ended();
    release();
    expect(await busy.ended()).toMatch(/"queued"/);
    await closing;
  });

  it('cuts what is left at its deadline (P10)', async () => {
    const bench = await listening();
    const stuck = await bench.connect();
    stuck.socket.write(postHead(Buffer.byteLength(body)) + body.slice(0, 5));
    await until('the request has begun', () => stuck.socket.bytesWritten > 5);
    await bench.server.close(30);
    await stuck.ended();
    await until('its memory is back', () => !hasReserved(bench));
  });

  it('names the address that it cannot listen on', async () => {
    const bench = await listening();
    const port = Number(new URL(bench.url).port);
    const other = await httpBench();
    opened.push(other);
    await expect(other.server.listen({ host: '127.0.0.1', port })).rejects.toMatchObject({
      code: 'LISTEN_FAILED',
      details: { address: `127.0.0.1:${port}` },
    });
  });
});
