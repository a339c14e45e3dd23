import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { requestFinished, type RequestFinished } from '#signals';
import { event, timestamp } from '../ingest/ingest-fixture.ts';
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

const ndjson = { 'content-type': 'application/x-ndjson' };

describe('POST /v1/events with one event', () => {
  it('answers 202 with the receipt at top level (ING-913)', async () => {
    const { request } = await bench();
    const answer = await request({ body: event() });
    expect(answer.status).toBe(202);
    expect(answer.json).toMatchObject({
      status: 'queued',
      session_id: 's',
      workspace: 'w',
      durability: 'group',
    });
    expect(answer.json['epoch']).toBeTypeOf('string');
    expect(answer.json['position']).toBeTypeOf('string');
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('answers a repeat 200 with Idempotency-Replayed and the first receipt (D29)', async () => {
    const { request } = await bench();
    const headers = { 'idempotency-key': 'k-1' };
    const first = await request({ body: event(), headers });
    const again = await request({ body: event(), headers });
    expect(again.status).toBe(200);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.json).toMatchObject({ status: 'duplicate', position: first.json['position'] });
    expect(first.headers['idempotency-replayed']).toBeUndefined();
  });

  it('answers other content of the same id 409 (D11)', async () => {
    const { request } = await bench();
    await request({ body: event({ event_id: 'a' }) });
    const answer = await request({ body: event({ event_id: 'a' }, { other: 1 }) });
    expect(answer.status).toBe(409);
    expect(answer.json.error).toMatchObject({ code: 'EVENT_ID_CONFLICT', retryable: false });
    expect(answer.json.error?.details?.errors?.[0]?.['stored_sha256']).toMatch(/^[0-9a-f]{64}$/);
  });

  it('reads an Idempotency-Key beyond ASCII as the same id as in a body', async () => {
    const { request } = await bench();
    await request({ body: event({ event_id: 'clé' }) });
    const header = Buffer.from('clé', 'utf8').toString('latin1');
    const answer = await request({ body: event(), headers: { 'idempotency-key': header } });
    expect(answer.status).toBe(200);
  });

  it.each([
    ['{"event":', 400, 'RECORD_NOT_JSON'],
    ['', 400, 'RECORD_NOT_JSON'],
    [`${event()}\n${event()}`, 400, 'RECORD_FRAMING'],
    ['{"event":"e"}', 422, 'EVENT_INVALID'],
    [event({}, { session_id: 'a\u0001' }), 422, 'SESSION_ID_INVALID'],
    [event({}, { x: 'y'.repeat(70_000) }), 413, 'RECORD_TOO_LARGE'],
  ])(
    'refuses %j with %d %s, with line and reason in the details (ING-918)',
    async (body, status, code) => {
      const { request, stored } = await bench();
      const answer = await request({ body });
      expect(answer.status).toBe(status);
      expect(answer.json.error).toMatchObject({ code, retryable: false });
      expect(answer.json.error?.details?.errors).toMatchObject([{ index: 0, line: 1, code }]);
      expect(answer.json['request_id']).toBeTypeOf('string');
      expect(await stored()).toEqual([]);
    },
  );

  it('fixes the session by the path, percent-encoded and long (ING-019)', async () => {
    const { request, stored } = await bench();
    const session = `a/b ${'é'.repeat(200)}`;
    const body = `{"event":"e","workspace":"w","data":{"timestamp":"${timestamp}"}}`;
    const url = `/v1/sessions/${encodeURIComponent(session)}/events`;
    const answer = await request({ url, body });
    expect(answer.status).toBe(202);
    expect(answer.json['session_id']).toBe(session);
    expect(await stored()).toMatchObject([{ sid: session }]);
  });

  it('says that a session is in quarantine (ING-411)', async () => {
    const { request, queue, clock } = await bench();
    await request({ body: event() });
    await queue.quarantine('w~s' as never, { code: 'CURSOR_CORRUPT', message: 'a test' });
    await clock.advance(1000);
    const answer = await request({ body: event() });
    expect(answer.status).toBe(202);
    expect(answer.headers['x-session-state']).toBe('quarantined');
  });
});

describe('POST /v1/events with many', () => {
  it('answers 202 with one result per record, duplicates among them', async () => {
    const { request } = await bench();
    const body = [event({ event_id: 'a' }), event({ event_id: 'a' })].join('\n');
    const answer = await request({ body, headers: ndjson });
    expect(answer.status).toBe(202);
    expect(answer.json.results).toMatchObject([
      { index: 0, status: 'queued', session_id: 's' },
      { index: 1, status: 'duplicate', session_id: 's' },
    ]);
  });

  it('answers 207 with the rejects first when some were refused (D19)', async () => {
    const { request } = await bench();
    const body = [event(), '{"broken', event()].join('\n');
    const answer = await request({ body, headers: ndjson });
    expect(answer.status).toBe(207);
    expect(Object.keys(answer.json)[0]).toBe('rejects');
    expect(answer.json.rejects).toMatchObject([{ index: 1, line: 2, code: 'RECORD_NOT_JSON' }]);
    expect(answer.json.results?.map((result) => result['status'])).toEqual([
      'queued',
      'rejected',
      'queued',
    ]);
  });

  it('answers the status of the first reject when nothing was stored, with all of them', async () => {
    const { request } = await bench();
    const answer = await request({ body: ['{}', '{"broken'].join('\n'), headers: ndjson });
    expect(answer.status).toBe(422);
    expect(answer.json.error?.details?.errors).toMatchObject([
      { index: 0, line: 1, code: 'EVENT_INVALID' },
      { index: 1, line: 2, code: 'RECORD_NOT_JSON' },
    ]);
  });

  it('refuses an atomic request as a whole with 400, and names every reject', async () => {
    const { request, stored } = await bench();
    const body = [event(), '{"broken', '{}'].join('\n');
    const answer = await request({ url: '/v1/events?atomic=true', body, headers: ndjson });
    expect(answer.status).toBe(400);
    expect(answer.json.error?.code).toBe('BATCH_REFUSED');
    expect(answer.json.error?.details?.errors?.map(({ index }) => index)).toEqual([1, 2]);
    expect(await stored()).toEqual([]);
    const odd = await request({ url: '/v1/events?atomic=perhaps', body: event() });
    expect(odd.status).toBe(422);
  });

  it('takes an empty batch as done', async () => {
    const { request } = await bench();
    expect((await request({ body: '[]' })).json).toMatchObject({ results: [] });
    expect((await request({ body: '', headers: ndjson })).status).toBe(202);
  });

  it('answers passing trouble for the whole request: 503 or 429, with Retry-After (ING-022)', async () => {
    const { request, failNextSyncs, stored } = await bench({
      queueLimits: { bytesPerKeyMax: 900 },
    });
    failNextSyncs(1);
    const failed = await request({ body: `${event()}\n${event()}`, headers: ndjson });
    expect(failed.status).toBe(503);
    expect(failed.json.error).toMatchObject({ code: 'QUEUE_WRITE_FAILED', retryable: true });
    const full = await request({ body: Array(9).fill(event()).join('\n'), headers: ndjson });
    expect(full.status).toBe(429);
    expect(full.json.error).toMatchObject({ code: 'BACKLOG_FULL', details: { keys: ['w~s'] } });
    for (const answer of [failed, full]) {
      const seconds = Number(answer.headers['retry-after']);
      expect(Number.isInteger(seconds) && seconds >= 1).toBe(true);
      expect(answer.json.error?.retry_after_ms).toBe(seconds * 1000);
    }
    expect(await stored()).toEqual([]);
  });
});

describe('bodies', () => {
  it('unpacks gzip', async () => {
    const { request, stored } = await bench();
    const body = gzipSync(`${event()}\n${event()}\n`);
    const headers = { ...ndjson, 'content-encoding': 'gzip' };
    expect((await request({ body, headers })).status).toBe(202);
    expect(await stored()).toHaveLength(2);
  });

  it('stops unpacking at the limit, however small the body was on the wire (P9)', async () => {
    const { request, ingest } = await bench({ limits: { batchBytesMax: 100_000 } });
    const body = gzipSync(Buffer.alloc(50_000_000, 0x20));
    expect(body.byteLength).toBeLessThan(100_000);
    const answer = await request({ body, headers: { 'content-encoding': 'gzip' } });
    expect(answer.status).toBe(413);
    expect(answer.json.error?.code).toBe('BATCH_TOO_LARGE');
    expect(() => ingest.reserve(4 * 1024 * 1024)).not.toThrow();
  });

  it.each([
    ['cut off', gzipSync(event()).subarray(0, 40)],
    ['not gzip', Buffer.from(event())],
    ['empty', Buffer.alloc(0)],
  ])('refuses a gzip body that is %s', async (_, body) => {
    const { request, stored } = await bench();
    const answer = await request({ body, headers: { 'content-encoding': 'gzip' } });
    expect(answer.status).toBe(400);
    expect(answer.json.error?.code).toBe('RECORD_NOT_JSON');
    expect(await stored()).toEqual([]);
  });

  it.each([
    [{ 'content-type': 'text/plain' }],
    [{ 'content-type': 'application/x-www-form-urlencoded' }],
    [{ 'content-type': 'application/json; charset=utf-16' }],
    [{ 'content-type': 'no type at all' }],
    [{ 'content-encoding': 'br' }],
    [{ 'content-encoding': 'gzip, gzip' }],
  ])('refuses %j with 415 and says what is understood', async (headers) => {
    const { request } = await bench();
    const answer = await request({ body: event(), headers });
    expect(answer.status).toBe(415);
    expect(answer.json.error?.code).toBe('MEDIA_TYPE_UNSUPPORTED');
    expect(answer.headers['accept-encoding']).toContain('gzip');
  });

  it.each([
    ['application/json; charset=UTF-8'],
    ['Application/JSON'],
    ['application/json;charset="utf-8"'],
  ])('takes the type %s', async (type) => {
    const { request } = await bench();
    expect((await request({ body: event(), headers: { 'content-type': type } })).status).toBe(202);
  });

  it('refuses a body above the limit and gives its memory back (P9)', async () => {
    const { request, ingest } = await bench({ limits: { batchBytesMax: 1000 } });
    const answer = await request({ body: 'x'.repeat(1001) });
    expect(answer.status).toBe(413);
    for (let round = 0; round < 20; round += 1) await request({ body: event() });
    expect(() => ingest.reserve(4 * 1024 * 1024)).not.toThrow();
  });

  it('says "later" when memory for requests is used up (P9)', async () => {
    const { request, ingest } = await bench();
    ingest.reserve(4 * 1024 * 1024);
    const answer = await request({ body: event() });
    expect(answer.status).toBe(503);
    expect(answer.json.error?.code).toBe('QUEUE_FULL');
    ingest.release(4 * 1024 * 1024);
    expect((await request({ body: event() })).status).toBe(202);
  });
});

describe('POST /events, as the clients of the predecessor send it', () => {
  const old = (members: object = {}): string =>
    JSON.stringify({
      event: 'tool:pre',
      workspace: 'w',
      working_dir: '',
      idempotency_key: 'aci-event-v1:1',
      data: { session_id: 's', timestamp },
      ...members,
    });

  it('answers 202 queued, then 202 duplicate, with the session (ING-942)', async () => {
    const { request } = await bench();
    for (const status of ['queued', 'duplicate']) {
      const answer = await request({ url: '/events?replay=true', body: old() });
      expect(answer.status).toBe(202);
      expect(answer.json).toMatchObject({ status, session_id: 's' });
    }
  });

  it('answers a null session for an event without one (ING-944)', async () => {
    const { request } = await bench();
    for (const data of [{ timestamp }, { timestamp, session_id: '' }]) {
      const answer = await request({ url: '/events', body: old({ data, idempotency_key: null }) });
      expect(answer.status).toBe(202);
      expect(answer.json['session_id']).toBeNull();
    }
  });

  it('carries detail beside the envelope in every error (ING-947)', async () => {
    const { request, ingest } = await bench();
    const invalid = await request({ url: '/events', body: old({ workspace: ' ' }) });
    const unknown = await request({ url: '/nowhere', body: old() });
    void ingest.stop();
    const later = await request({ url: '/events', body: old() });
    expect([invalid.status, unknown.status, later.status]).toEqual([422, 404, 503]);
    for (const { json } of [invalid, unknown, later])
      expect(json['detail']).toBe(json.error?.message);
    expect((await request({ body: old() })).json['detail']).toBeUndefined();
  });
});

describe('what is told of requests', () => {
  it('publishes status, counts and reasons, and nothing of the events', async () => {
    const told: RequestFinished[] = [];
    const end = requestFinished.subscribe((message) => told.push(message));
    const { request } = await bench();
    await request({ body: `${event({ event_id: 'a' })}\n{"x`, headers: ndjson });
    await request({ body: event({ event_id: 'a' }) });
    await request({ body: 'x', headers: { 'content-type': 'text/plain' } });
    end();
    expect(told).toMatchObject([
      { route: '/v1/events', status: 207, accepted: 1, rejected: { RECORD_NOT_JSON: 1 } },
      { status: 200, accepted: 0, duplicates: 1, rejected: {} },
      { status: 415, accepted: 0, rejected: { MEDIA_TYPE_UNSUPPORTED: 1 } },
    ]);
  });
});

describe('while the daemon stops', () => {
  it('answers 503 DRAINING with Retry-After to new events', async () => {
    const { request, ingest } = await bench();
    void ingest.stop();
    const answer = await request({ body: event() });
    expect(answer.status).toBe(503);
    expect(answer.json.error).toMatchObject({ code: 'DRAINING', retryable: true });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  });
});
