import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createConsole } from '#console';
import { nodeDisk } from '#disk';
import { httpBench, type HttpBench, type HttpBenchOptions } from './http-fixture.ts';

const opened: HttpBench[] = [];

async function bench(options: HttpBenchOptions = {}): Promise<HttpBench> {
  const made = await httpBench({ console: createConsole({ disk: nodeDisk() }), ...options });
  opened.push(made);
  return made;
}

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

describe('the console over HTTP', () => {
  it('is served to anybody, with rules that keep foreign scripts, frames and hosts out', async () => {
    const { request } = await bench({ firstToken: { name: 'first', scopes: ['ops:write'] } });
    const page = await request({ method: 'GET', url: '/' });
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(page.headers['x-content-type-options']).toBe('nosniff');
    expect(page.headers['set-cookie']).toBeUndefined();
    const script = await request({ method: 'GET', url: '/console/app.js?x=1' });
    expect([script.status, script.headers['content-type']]).toEqual([
      200,
      'text/javascript; charset=utf-8',
    ]);
    expect((await request({ method: 'HEAD', url: '/' })).status).toBe(200);
    // What it shows needs a token all the same.
    expect((await request({ method: 'GET', url: '/v1/wait' })).status).toBe(401);
  });

  it('is sent once: the same bytes again are 304, and packed for those who can unpack', async () => {
    const { request, server } = await bench();
    const plain = await request({ method: 'GET', url: '/console/style.css' });
    const again = await request({
      method: 'GET',
      url: '/console/style.css',
      headers: { 'if-none-match': String(plain.headers['etag']) },
    });
    expect([again.status, again.text]).toEqual([304, '']);
    expect(again.headers['content-security-policy']).toBeDefined();
    const packed = await server.app.inject({
      method: 'GET',
      url: '/console/style.css',
      headers: { 'accept-encoding': 'gzip, br' },
    });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.rawPayload).toString()).toBe(plain.text);
  });

  it('has no path but its own, and no page for a foreign Host or a write', async () => {
    const { request } = await bench();
    for (const url of [
      '/console/nothing.js',
      '/console/',
      '/console/%2e%2e%2fpackage.json',
      '/console/..%2f..%2fpackage.json',
      '/index.html',
    ]) {
      const answer = await request({ method: 'GET', url });
      expect([answer.status, answer.json.error?.code], url).toEqual([404, 'ROUTE_UNKNOWN']);
    }
    expect((await request({ method: 'POST', url: '/', body: '{}' })).status).toBe(404);
    const foreign = await request({ method: 'GET', url: '/', headers: { host: 'evil.example' } });
    expect(foreign.status).toBe(403);
  });
});
