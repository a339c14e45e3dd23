import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { encodeForTest } from '../formats/otlp-samples.ts';
import {
  httpBench,
  type HttpBench,
  type HttpBenchOptions,
  type TestAnswer,
} from './http-fixture.ts';

const opened: HttpBench[] = [];

async function bench(options: HttpBenchOptions = {}): Promise<HttpBench> {
  const made = await httpBench(options);
  opened.push(made);
  return made;
}

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const json = { 'content-type': 'application/json' };
const protobuf = { 'content-type': 'application/x-protobuf' };

function sample(name: string): string {
  return readFileSync(join(import.meta.dirname, `../data/otlp/${name}`), 'utf8');
}

const span = {
  traceId: '5b8efff798038103d269b633813fc60c',
  spanId: 'eee19b7ec3c1b174',
  name: 'chat m',
  startTimeUnixNano: '1787220000000000000',
  endTimeUnixNano: '1787220001000000000',
  attributes: [{ key: 'gen_ai.operation.name', value: { stringValue: 'chat' } }],
};

function traces(...spans: readonly object[]): object {
  return { resourceSpans: [{ scopeSpans: [{ spans }] }] };
}

async function posted(made: HttpBench, request: object, url = '/v1/traces'): Promise<TestAnswer> {
  return made.request({ url, headers: json, body: JSON.stringify(request) });
}

describe('POST /v1/traces and /v1/logs', () => {
  it('answer a success with an empty response in the type of the request', async () => {
    const made = await bench();
    const answer = await posted(made, traces(span));
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([
      200,
      '{}',
      'application/json',
    ]);
    const packed = await made.request({
      url: '/v1/traces',
      headers: protobuf,
      body: encodeForTest('TracesRequest', traces(span)),
    });
    expect([packed.status, packed.text, packed.headers['content-type']]).toEqual([
      200,
      '',
      'application/x-protobuf',
    ]);
    const logs = await made.request({
      url: '/v1/logs',
      headers: json,
      body: sample('made-claude-code-events-logs.otlp.json'),
    });
    expect([logs.status, logs.text]).toEqual([200, '{}']);
  });

  it('take a repeat, as JSON, as protobuf and packed, for the spans that they know', async () => {
    const made = await bench();
    await posted(made, traces(span));
    const stored = await made.stored();
    await posted(made, traces({ ...span, traceId: span.traceId.toUpperCase() }));
    await made.request({
      url: '/v1/traces',
      headers: protobuf,
      body: encodeForTest('TracesRequest', traces(span)),
    });
    const body = gzipSync(JSON.stringify(traces(span)));
    const packed = await made.request({
      url: '/v1/traces',
      headers: { ...json, 'content-encoding': 'gzip' },
      body,
    });
    expect(packed.status).toBe(200);
    expect(await made.stored()).toEqual(stored);
    expect(stored.length).toBeGreaterThan(3);
  });

  it('take requests with nothing in them, and every sample and case of the encoding', async () => {
    const made = await bench();
    expect((await made.request({ url: '/v1/traces', headers: protobuf })).status).toBe(200);
    const cases = sample('made-otlp-json-encoding-cases.ndjson').trimEnd().split('\n');
    for (const line of cases) {
      const request = /"request": (\{.*\})\}$/.exec(line)?.[1];
      if (request === undefined) continue;
      expect([
        line.slice(0, 60),
        (await made.request({ url: '/v1/traces', headers: json, body: request })).status,
      ]).toEqual([line.slice(0, 60), 200]);
    }
    const official = await made.request({
      url: '/v1/traces',
      headers: json,
      body: sample('open-telemetry-opentelemetry-proto-trace.json'),
    });
    expect([official.status, official.text]).toEqual([200, '{}']);
  });

  it('tell by partial success what can never be stored, and store the rest', async () => {
    const made = await bench();
    const answer = await posted(
      made,
      traces(span, { ...span, spanId: '' }, { ...span, spanId: '0000000000000000' }),
    );
    expect(answer.status).toBe(200);
    expect(answer.json['partialSuccess']).toEqual({
      rejectedSpans: '2',
      errorMessage: expect.stringContaining('span id') as string,
    });
    const large = 'x'.repeat(40_000);
    const limited = await bench({ limits: { eventBytesMax: 20_000 } });
    const huge = {
      ...span,
      spanId: 'eee19b7ec3c1b175',
      attributes: [{ key: 'input.value', value: { stringValue: large } }, ...span.attributes],
    };
    const partial = await posted(limited, traces(span, huge));
    expect(partial.json['partialSuccess']).toMatchObject({ rejectedSpans: '1' });
  });

  it('refuse as google.rpc.Status what cannot be decoded (400) or is of another type (415)', async () => {
    const made = await bench();
    const wrong: readonly (readonly [Record<string, string>, string | Uint8Array, number])[] = [
      [json, '{"resourceSpans":', 400],
      [json, JSON.stringify(traces({ ...span, traceId: 'W47/95gDgQPSabYzgT/GDA==' })), 400],
      [protobuf, Buffer.from('not protobuf at all'), 400],
      [{ 'content-type': 'text/plain' }, 'x', 415],
    ];
    for (const [headers, body, status] of wrong)
      expect((await made.request({ url: '/v1/traces', headers, body })).status).toBe(status);
    const told = await made.request({ url: '/v1/traces', headers: json, body: '[]' });
    expect(told.json).toEqual({ code: 3, message: expect.any(String) as string });
    expect(await made.stored()).toEqual([]);
  });

  it('answer trouble that may pass with 503 and Retry-After, on which exporters try again (D13)', async () => {
    const made = await bench();
    await made.ingest.stop();
    const answer = await posted(made, traces(span));
    expect([answer.status, answer.json['code']]).toEqual([503, 14]);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('answer metrics with a partial success that refuses every point, and an empty request with a success', async () => {
    const made = await bench();
    const url = '/v1/metrics';
    const request = JSON.parse(sample('open-telemetry-opentelemetry-proto-metrics.json')) as object;
    const told = await made.request({ url, headers: json, body: JSON.stringify(request) });
    expect(told.status).toBe(200);
    expect(told.json).toEqual({
      partialSuccess: {
        rejectedDataPoints: '4',
        errorMessage: 'metrics are not kept: set OTEL_METRICS_EXPORTER=none',
      },
    });
    const packed = { url, headers: protobuf, body: encodeForTest('MetricsRequest', request) };
    const answer = await made.request(packed);
    expect([answer.status, answer.headers['content-type']]).toEqual([
      200,
      protobuf['content-type'],
    ]);
    expect(answer.text).toContain('OTEL_METRICS_EXPORTER=none');
    const empty = await made.request({ url, headers: json, body: '{"resourceMetrics":[]}' });
    expect([empty.status, empty.text]).toEqual([200, '{}']);
    expect((await made.request({ url, headers: json, body: '[' })).status).toBe(400);
    expect(await made.stored()).toEqual([]);
  });

  it('put spans of one trace into one session, whichever request names it, and repeats where they were', async () => {
    const made = await bench();
    const named = (at: number, ...keys: readonly object[]): object => ({
      ...span,
      spanId: `eee19b7ec3c1b1${String(at)}`,
      attributes: [...span.attributes, ...keys],
    });
    const session = { key: 'session.id', value: { stringValue: 'talk' } };
    await posted(made, traces(named(10)));
    await posted(made, traces(named(11, session)));
    await posted(made, traces(named(12)));
    const before = await made.stored();
    await posted(made, traces(named(10)));
    await posted(made, traces(named(12)));
    await posted(made, traces(named(11, session)));
    expect(await made.stored()).toEqual(before);
    const data = before.map((line) => line['data'] as Readonly<Record<string, unknown>>);
    const spans = data.filter(({ otel }) => otel !== undefined);
    expect(spans.map(({ session_id }) => session_id)).toEqual([span.traceId, 'talk', 'talk']);
    expect(data.find(({ parent_id }) => parent_id !== undefined)).toMatchObject({
      session_id: span.traceId,
      parent_id: 'talk',
    });
  });

  it('keep scopes and workspaces', async () => {
    const made = await bench({ firstToken: { name: 'ops', scopes: ['ops:write'] } });
    const bare = await posted(made, traces(span));
    expect([bare.status, bare.json['code']]).toEqual([401, 16]);
    const writer = await made.header({ name: 'w', scopes: ['ingest:write'], workspaces: ['team'] });
    const body = JSON.stringify(traces(span));
    const send = (url: string): Promise<TestAnswer> =>
      made.request({ url, headers: { ...json, ...writer }, body });
    expect((await send('/v1/traces')).status).toBe(200);
    expect((await send('/v1/traces?workspace=other')).status).toBe(403);
    expect(made.appended.every((key) => key.startsWith('team'))).toBe(true);
  });
});
