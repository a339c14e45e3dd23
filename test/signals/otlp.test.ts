import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import { daemonNoticed, requestFinished, startMetrics, startOtlp, type Metrics } from '#signals';
import { seededChance } from '../support/chance.ts';

interface Received {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Readonly<Record<string, readonly ResourceItems[]>>;
}
interface ResourceItems {
  readonly resource: { readonly attributes: readonly object[] };
  readonly scopeMetrics?: readonly { readonly metrics: readonly Metric[] }[];
  readonly scopeSpans?: readonly { readonly spans: readonly Readonly<Record<string, unknown>>[] }[];
}
interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly sum?: { readonly dataPoints: readonly object[] };
  readonly histogram?: {
    readonly dataPoints: readonly {
      readonly count: string;
      readonly bucketCounts: readonly string[];
      readonly explicitBounds: readonly number[];
    }[];
  };
}

const received: Received[] = [];
let server: Server | undefined;
let metrics: Metrics | undefined;
afterEach(() => {
  server?.close();
  metrics?.stop();
  received.length = 0;
});

async function collector(status = 200): Promise<string> {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({
        path: request.url ?? '',
        authorization: request.headers.authorization,
        body: JSON.parse(Buffer.concat(chunks).toString()) as Received['body'],
      });
      response.statusCode = status;
      response.end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function start(endpoint: string): () => Promise<void> {
  metrics = startMetrics({ version: '9.9.9', snapshot: () => Promise.reject(new Error('unused')) });
  const { registryMetrics } = metrics;
  return startOtlp({
    endpoint,
    headers: ['authorization=Bearer abc'],
    intervalMs: 60_000,
    version: '9.9.9',
    clock: systemClock,
    chance: seededChance(3),
    metrics: () => registryMetrics({ isSnapshotTaken: false }),
  });
}

const finish = (durationMs: number, status = 202): void =>
  requestFinished.publish(() => ({
    route: '/v1/events',
    status,
    accepted: 3,
    duplicates: 0,
    rejected: {},
    bodyBytes: 10,
    durationMs,
  }));

describe('OTLP', () => {
  it('pushes metrics and spans in the JSON encoding, the last of them when it stops', async () => {
    const stop = start(await collector());
    finish(2);
    finish(700, 503);
    await stop();
    expect(received.map(({ path }) => path)).toEqual(['/v1/metrics', '/v1/traces']);
    expect(received[0]?.authorization).toBe('Bearer abc');
    const [first] = received[0]?.body['resourceMetrics'] ?? [];
    expect(JSON.stringify(first?.resource)).toContain('"service.name"');
    const sent = first?.scopeMetrics?.[0]?.metrics ?? [];
    const one = (name: string): Metric | undefined => sent.find((metric) => metric.name === name);
    expect(one('millrace_ingest_events_accepted_total')?.sum?.dataPoints).toMatchObject([
      { asDouble: 6, attributes: [] },
    ]);
    const [point] = one('millrace_ingest_append_seconds')?.histogram?.dataPoints ?? [];
    expect(point?.count).toBe('2');
    expect(point?.bucketCounts).toHaveLength((point?.explicitBounds.length ?? 0) + 1);
    expect(point?.bucketCounts.reduce((sum, count) => sum + Number(count), 0)).toBe(2);
    const [traces] = received[1]?.body['resourceSpans'] ?? [];
    const spans = traces?.scopeSpans?.[0]?.spans ?? [];
    expect(spans.map(({ name }) => name)).toEqual(['POST /v1/events', 'POST /v1/events']);
    expect(spans[0]).toMatchObject({
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      startTimeUnixNano: expect.stringMatching(/^\d{19}$/) as string,
    });
    expect(spans[1]).toMatchObject({ status: { code: 2 } });
  });

  it('takes a bounded sample of spans, and tells once that nobody takes them', async () => {
    const told: string[] = [];
    const end = daemonNoticed.subscribe(({ code }) => told.push(code));
    const stop = start(await collector(500));
    for (let at = 0; at < 500; at += 1) finish(1);
    await stop();
    end();
    const spans = received[1]?.body['resourceSpans']?.[0]?.scopeSpans?.[0]?.spans ?? [];
    expect(spans.length).toBeLessThanOrEqual(60);
    expect(told).toEqual(['OTLP_AWAY']);
  });
});
