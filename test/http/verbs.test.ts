import { afterEach, describe, expect, it } from 'vitest';
import { daemonNoticed } from '#signals';
import { until } from '../support/turn.ts';
import { httpBench, type HttpBench, type HttpBenchOptions } from './http-fixture.ts';

const opened: HttpBench[] = [];

async function bench(options: HttpBenchOptions = {}): Promise<HttpBench> {
  const made = await httpBench(options);
  opened.push(made);
  return made;
}

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

describe('verbs over HTTP', () => {
  it('reads members from path and query as the schema wants them', async () => {
    const { request } = await bench();
    const answer = await request({ method: 'GET', url: '/v1/echo/a%2Fb?limit=5&dry_run=true' });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ name: 'a/b', limit: 5, dry_run: true });
  });

  it('reads members from a JSON body, whose types are taken as they are', async () => {
    const { request } = await bench();
    const good = await request({ url: '/v1/echo/a', body: '{"limit":7}' });
    expect(good.json).toEqual({ name: 'a', limit: 7 });
    const empty = await request({ url: '/v1/echo/a' });
    expect(empty.json).toEqual({ name: 'a' });
    const text = await request({ url: '/v1/echo/a', body: '{"limit":"7"}' });
    expect(text.status).toBe(422);
  });

  it('lets nothing in the body override the path', async () => {
    const { request } = await bench();
    expect((await request({ url: '/v1/echo/a', body: '{"name":"b"}' })).json).toEqual({
      name: 'a',
    });
  });

  it.each([
    ['/v1/echo/a?limit=0', 'limit'],
    ['/v1/echo/a?limit=many', 'limit'],
    ['/v1/echo/a?limti=3', 'limti'],
    ['/v1/echo/a?dry_run=perhaps', 'dry_run'],
  ])('refuses %s with 422 and names the member', async (url, member) => {
    const { request, callers } = await bench();
    const answer = await request({ method: 'GET', url });
    expect(answer.status).toBe(422);
    expect(answer.json.error).toMatchObject({ code: 'INPUT_INVALID', details: { member } });
    expect(callers).toEqual([]);
  });

  it.each([
    ['[1]', 422],
    ['{"limit":', 400],
    ['"text"', 422],
  ])('refuses the body %s', async (body, status) => {
    const { request } = await bench();
    expect((await request({ url: '/v1/echo/a', body })).status).toBe(status);
  });

  it('refuses a body that is no JSON by its type', async () => {
    const { request } = await bench();
    const headers = { 'content-type': 'application/x-ndjson' };
    expect((await request({ url: '/v1/echo/a', body: '{}', headers })).status).toBe(415);
  });

  it('serves a verb under its aliases', async () => {
    const { request } = await bench();
    expect((await request({ method: 'GET', url: '/echo/a' })).json).toEqual({ name: 'a' });
    expect((await request({ method: 'GET', url: '/status' })).json).toEqual({ accepted: 0 });
  });

  it('sends a stream as it comes', async () => {
    const { request } = await bench();
    const answer = await request({ method: 'GET', url: '/v1/export' });
    expect(answer.headers['content-type']).toBe('application/x-ndjson');
    expect(answer.text).toBe('{"line":0}\n{"line":1}\n{"line":2}\n');
  });

  it('answers a stream that fails before its first byte with an error', async () => {
    const { request } = await bench();
    const answer = await request({ method: 'GET', url: '/v1/export?fail=true' });
    expect(answer.status).toBe(500);
    expect(answer.json.error?.code).toBe('INTERNAL_ERROR');
  });

  it('aborts what waits when the server closes, and says "later"', async () => {
    const { request, server, callers } = await bench();
    const waiting = request({ method: 'GET', url: '/v1/wait' });
    await until('the verb waits', () => callers.length === 1);
    await server.close(1000);
    const answer = await waiting;
    expect(answer.status).toBe(503);
    expect(answer.json.error?.code).toBe('DRAINING');
  });

  it('tells a stream where its caller left off, and proxies not to keep it', async () => {
    const { request, callers } = await bench();
    const url = '/v1/stream';
    const answer = await request({ method: 'GET', url, headers: { 'last-event-id': 'x-7' } });
    expect(answer.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
    });
    await request({ method: 'GET', url, headers: { 'last-event-id': 'y'.repeat(65) } });
    await request({ method: 'GET', url });
    expect(callers.map(({ lastEventId }) => lastEventId)).toEqual(['x-7', undefined, undefined]);
  });

  it('answers a defect with 500, tells the log where, and quotes it nowhere (ING-018)', async () => {
    const told: string[] = [];
    const end = daemonNoticed.subscribe(({ message }) => told.push(message));
    const { request } = await bench();
    const answer = await request({ method: 'GET', url: '/v1/defect' });
    end();
    expect(answer.status).toBe(500);
    expect(answer.json.error).toMatchObject({ code: 'INTERNAL_ERROR', retryable: false });
    expect(told).toHaveLength(1);
    expect(told[0]).toContain(String(answer.json['request_id']));
    expect(told[0]).toContain('http-fixture.ts');
    expect(answer.text + told.join('')).not.toContain('secret-payload');
  });

  it('answers an unknown route and an unknown method with 404 in the envelope', async () => {
    const { request } = await bench();
    for (const [method, url] of [
      ['GET', '/v1/nothing'],
      ['PUT', '/v1/events'],
      ['GET', '/v1/events'],
      ['GET', '/v1/echo/%E0%A4%A'],
    ] as const) {
      const answer = await request({ method, url });
      expect([400, 404]).toContain(answer.status);
      expect(answer.json.error?.code).toMatch(/ROUTE_UNKNOWN|REQUEST_MALFORMED/);
      expect(answer.json['request_id']).toBeTypeOf('string');
    }
  });
});

describe('probes', () => {
  it('tell life and readiness apart, with reasons, to anybody (ING-948)', async () => {
    const { request, health } = await bench({
      listenHost: '0.0.0.0',
      firstToken: { name: 'first', scopes: ['ops:read'] },
    });
    const headers = { host: 'some-probe.internal' };
    const ask = async (): Promise<readonly number[]> => {
      const statuses = [];
      for (const url of ['/livez', '/readyz', '/healthz'])
        statuses.push((await request({ method: 'GET', url, headers })).status);
      return statuses;
    };
    expect(await ask()).toEqual([200, 200, 200]);
    const reasons = [{ code: 'QUEUE_FULL', message: 'the disk is full' }];
    health.now = { state: 'degraded', isLive: true, isReady: false, reasons };
    expect(await ask()).toEqual([200, 503, 503]);
    const ready = await request({ method: 'GET', url: '/readyz', headers });
    expect(ready.json).toMatchObject({ status: 'unavailable', state: 'degraded', reasons });
    expect(Number(ready.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    health.now = { state: 'fenced', isLive: false, isReady: false, reasons };
    expect(await ask()).toEqual([503, 503, 503]);
    expect((await request({ method: 'HEAD', url: '/livez', headers })).status).toBe(503);
  });

  it('stand at the top level only', async () => {
    const { request } = await bench();
    expect((await request({ method: 'GET', url: '/v1/livez' })).status).toBe(404);
    expect((await request({ method: 'GET', url: '/metrics' })).text).toContain('millrace_build');
  });
});
