import { Writable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { startLog } from '#signals';
import { event } from '../ingest/ingest-fixture.ts';
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

describe('tokens over HTTP', () => {
  it('are needed from the moment when the first exists, and no longer once it is revoked', async () => {
    const { request, header, tokens } = await bench();
    expect((await request({ body: event() })).status).toBe(202);
    const headers = await header({ name: 'agents', scopes: ['ingest:write'] });
    const refused = await request({ body: event() });
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toContain('Bearer');
    expect(refused.json.error?.code).toBe('UNAUTHENTICATED');
    const own = event({}, { session_id: 'own' });
    expect((await request({ body: own, headers })).status).toBe(202);
    await header({ name: 'other', scopes: ['ops:read'] });
    await tokens.revoke('agents');
    expect((await request({ body: own, headers })).status).toBe(401);
  });

  it('go on with sessions that were begun without one, the first as their owner (ING-915)', async () => {
    const { request, header } = await bench();
    expect((await request({ body: event() })).status).toBe(202);
    const first = await header({ name: 'first', scopes: ['ingest:write'] });
    const second = await header({ name: 'second', scopes: ['ingest:write'] });
    expect((await request({ body: event(), headers: first })).status).toBe(202);
    const refused = await request({ body: event(), headers: second });
    expect([refused.status, refused.json.error?.code]).toEqual([403, 'SESSION_OWNER_MISMATCH']);
  });

  it('stop working when they expire', async () => {
    const { request, header, clock } = await bench();
    const expiresAt = new Date(clock.now() + 1000).toISOString();
    const headers = await header({ name: 'short', scopes: ['ingest:write'], expiresAt });
    expect((await request({ body: event(), headers })).status).toBe(202);
    await clock.advance(1000);
    const answer = await request({ body: event(), headers });
    expect(answer.status).toBe(401);
    expect(answer.json.error?.message).toContain('expired');
  });

  it('are good for their scopes alone', async () => {
    const { request, header } = await bench();
    const writer = await header({ name: 'writer', scopes: ['ingest:write'] });
    const reader = await header({ name: 'reader', scopes: ['ops:read'] });
    const echo = { method: 'GET', url: '/v1/echo/a' } as const;
    expect((await request({ body: event(), headers: writer })).status).toBe(202);
    expect((await request({ ...echo, headers: reader })).status).toBe(200);
    const noWrite = await request({ body: event(), headers: reader });
    const noRead = await request({ ...echo, headers: writer });
    expect([noWrite.status, noRead.status]).toEqual([403, 403]);
    expect(noRead.json.error?.message).toContain('ops:read');
  });

  it('keep to their workspaces, record by record', async () => {
    const { request, header } = await bench();
    const headers = {
      'content-type': 'application/x-ndjson',
      ...(await header({ name: 'agents', scopes: ['ingest:write'], workspaces: ['w'] })),
    };
    const other = event({ workspace: 'x' });
    const mixed = await request({ body: `${event()}\n${other}`, headers });
    expect(mixed.status).toBe(207);
    expect(mixed.json.rejects).toMatchObject([{ index: 1, code: 'FORBIDDEN' }]);
    expect((await request({ body: other, headers })).status).toBe(403);
  });

  it('stand with the record as its sender, whatever the client says', async () => {
    const { request, header, stored } = await bench();
    const headers = await header({ name: 'agents', scopes: ['ingest:write'] });
    await request({ body: event({ by: 'root', created_by: 'root' }), headers });
    expect(await stored()).toMatchObject([{ by: 'agents' }]);
  });

  it('tell a verb who calls', async () => {
    const { request, header, callers } = await bench();
    const headers = await header({ name: 'reader', scopes: ['ops:read'], workspaces: ['w'] });
    await request({ method: 'GET', url: '/v1/echo/a', headers });
    await request({ method: 'GET', url: '/v1/status', headers });
    await request({ method: 'GET', url: '/v1/status' });
    await request({ method: 'GET', url: '/v1/status', headers: { authorization: 'Bearer no' } });
    const seen = callers.map(({ principal, scopes, workspaces }) => [
      principal,
      [...scopes],
      workspaces,
    ]);
    expect(seen).toEqual([
      ['reader', ['ops:read'], ['w']],
      ['reader', ['ops:read'], ['w']],
      ['anonymous', [], []],
      ['anonymous', [], []],
    ]);
  });

  it('are needed for metrics beyond loopback', async () => {
    const first = { name: 'first', scopes: ['ingest:write'] };
    const { request, header } = await bench({ listenHost: '0.0.0.0', firstToken: first });
    const metrics = { method: 'GET', url: '/metrics', headers: { host: '10.0.0.5' } } as const;
    expect((await request(metrics)).status).toBe(401);
    const host = { host: '10.0.0.5' };
    const writer = { ...host, ...(await header({ name: 'w', scopes: ['ingest:write'] })) };
    expect((await request({ ...metrics, headers: writer })).status).toBe(403);
    const reader = { ...host, ...(await header({ name: 'r', scopes: ['ops:read'] })) };
    expect((await request({ ...metrics, headers: reader })).status).toBe(200);
    expect((await request({ ...metrics, url: '/status' })).status).toBe(200);
  });

  it('never show in answers, errors or the log (ING-018)', async () => {
    const log: string[] = [];
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        log.push(chunk.toString('utf8'));
        done();
      },
    });
    const stop = startLog({ level: 'debug', stream });
    const { request, header, tokens } = await bench();
    const headers = await header({ name: 'agents', scopes: ['ingest:write', 'ops:read'] });
    const secret = headers.authorization.slice('Bearer '.length);
    const canary = 'mrt_canary-000000000000000000000000000000000000';
    const answers: string[] = [];
    for (const authorization of [headers.authorization, `Bearer ${canary}`, canary])
      for (const [method, url, body] of [
        ['POST', '/v1/events', event()],
        ['POST', '/v1/events', '{'],
        ['POST', '/events', '{}'],
        ['GET', '/v1/echo/a?limit=x', undefined],
        ['GET', '/v1/defect', undefined],
        ['GET', '/v1/nothing', undefined],
        ['GET', '/metrics', undefined],
      ] as const) {
        const answer = await request({
          method,
          url,
          headers: { authorization },
          ...(body === undefined ? {} : { body }),
        });
        answers.push(answer.text, JSON.stringify(answer.headers));
      }
    answers.push(JSON.stringify(await tokens.list()));
    stop();
    expect(log.length).toBeGreaterThan(5);
    const everything = [...answers, ...log].join('\n');
    expect(everything).not.toContain(secret);
    expect(everything).not.toContain('canary');
  });
});

describe('callers that mean another root (B160)', () => {
  it('are refused on every route before anything is done, and those that mean this one are not', async () => {
    const { request, stored } = await bench({});
    const headers = { 'millrace-root': 'SR-other' };
    for (const answer of [
      await request({ body: event(), headers }),
      await request({ url: '/events', body: event(), headers }),
      await request({ method: 'GET', url: '/v1/status', headers }),
      await request({ method: 'GET', url: '/v1/nothing', headers }),
    ]) {
      expect(answer.status).toBe(421);
      expect(answer.json.error?.code).toBe('ROOT_OTHER');
    }
    expect(await stored()).toEqual([]);
    const here = { 'millrace-root': 'SR-here' };
    expect((await request({ body: event(), headers: here })).status).toBe(202);
  });
});

describe('pages of other sites', () => {
  it('get nothing, with or without a body (DNS rebinding)', async () => {
    const { request, stored } = await bench({ allowedHosts: ['mill.example'] });
    const evil = { host: 'evil.example:7117' };
    const foreign = { host: '127.0.0.1:7117', origin: 'http://evil.example' };
    for (const headers of [evil, foreign]) {
      const answers = [
        await request({ body: event(), headers }),
        await request({ method: 'GET', url: '/v1/status', headers }),
        await request({ method: 'GET', url: '/metrics', headers }),
        await request({ method: 'GET', url: '/v1/nothing', headers }),
      ];
      for (const answer of answers) {
        expect(answer.status).toBe(403);
        expect(answer.json.error?.code).toBe('FORBIDDEN');
        expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      }
    }
    expect(await stored()).toEqual([]);
    for (const headers of [
      { host: 'mill.example', origin: 'https://mill.example' },
      { host: '127.0.0.1:7117', origin: 'http://127.0.0.1:7117' },
    ])
      expect((await request({ body: event(), headers })).status).toBe(202);
  });
});
