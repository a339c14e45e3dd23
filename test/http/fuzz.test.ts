import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseLine, parseKey } from '#record';
import { event } from '../ingest/ingest-fixture.ts';
import { httpBench, type HttpBench, type TestAnswer, type TestRequest } from './http-fixture.ts';

let bench: HttpBench;

beforeAll(async () => {
  bench = await httpBench({ limits: { eventBytesMax: 20_000, batchRecordsMax: 20 } });
});

afterAll(async () => {
  await bench.close();
});

/** A valid event that is spoiled in one place: a byte lost, gained, changed, a part doubled or cut off. */
const spoiled = fc
  .tuple(
    fc.constantFrom(
      event(),
      event({ event_id: 'a' }, { n: 1e300, deep: [[[{}]]] }),
      `${event()}\n${event({ workspace: 'x' })}\n`,
      `[${event()},${event()}]`,
    ),
    fc.nat(),
    fc.nat({ max: 40 }),
    fc.uint8Array({ maxLength: 4 }),
    fc.constantFrom('cut', 'drop', 'insert', 'replace', 'double'),
  )
  .map(([text, place, length, bytes, how]) => {
    const sound = Buffer.from(text);
    const at = place % (sound.byteLength + 1);
    const before = sound.subarray(0, at);
    const part = sound.subarray(at, at + length);
    const after = sound.subarray(at + length);
    switch (how) {
      case 'cut':
        return before;
      case 'drop':
        return Buffer.concat([before, after]);
      case 'insert':
        return Buffer.concat([before, bytes, part, after]);
      case 'replace':
        return Buffer.concat([before, bytes, after]);
      case 'double':
        return Buffer.concat([before, part, part, after]);
    }
  });

/** Valid JSON of odd shapes, in the places where admission looks. */
const odd = fc
  .record(
    {
      event: fc.jsonValue(),
      workspace: fc.jsonValue(),
      session_id: fc.jsonValue(),
      event_id: fc.jsonValue(),
      idempotency_key: fc.jsonValue(),
      derived_id: fc.jsonValue(),
      data: fc.oneof(
        fc.jsonValue(),
        fc.record({ timestamp: fc.jsonValue(), session_id: fc.jsonValue() }),
        fc.record({
          timestamp: fc.constant('2026-01-01'),
          session_id: fc.string({ unit: 'binary', maxLength: 800 }),
        }),
      ),
    },
    { requiredKeys: [] },
  )
  .map((value) => Buffer.from(JSON.stringify(value)));

const extreme = fc
  .constantFrom(
    '['.repeat(300_000),
    '{"a":'.repeat(100_000),
    `${'['.repeat(2000)}${']'.repeat(2000)}`,
    event({}, { n: 0 }).replace('"n":0', `"n":${'9'.repeat(10_000)}`),
    event({}, { n: 0 }).replace('"n":0', '"n":1e99999'),
    event({}, { n: 0 }).replace('"n":0', `"n":0.${'0'.repeat(5000)}1`),
    event({}, { x: '\ud800' }),
    event({ __proto__x: 1 }).replace('__proto__x', '__proto__'),
    event().replace('"data":{', '"data":{"__proto__":{"a":1},"constructor":1,'),
    event({}, { x: 'y'.repeat(30_000) }),
    '\n'.repeat(100_000),
    Array.from({ length: 30 }, () => event()).join('\n'),
    `{"event":"e","event":"f","workspace":"w","workspace":"v",${event().slice(1)}`,
    '"\\ud83d"',
    '\u0000',
  )
  .map((text) => Buffer.from(text));

const body = fc.oneof(
  { weight: 4, arbitrary: spoiled },
  { weight: 3, arbitrary: odd },
  { weight: 1, arbitrary: fc.constant(Buffer.from(`${event()}\n{}\n`)) },
  { weight: 1, arbitrary: extreme },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
);

const headerText = fc.string({
  unit: fc.constantFrom(' ', ';', ',', '=', '"', '/', '*', 'a', '0', 'é', '%', 'gzip', 'json'),
  maxLength: 12,
});

type Headers = Readonly<Record<string, string>>;

const plainHeaders: fc.Arbitrary<Headers> = fc
  .tuple(
    fc.constantFrom('application/json', 'application/x-ndjson'),
    fc.constantFrom({}, {}, { 'idempotency-key': 'k' }, { 'content-encoding': 'gzip' }),
  )
  .map(([type, more]) => ({ 'content-type': type, ...more }));

/** One header that is odd, among sound ones: two would mostly hide each other. */
const oddHeaders: fc.Arbitrary<Headers> = fc
  .tuple(
    plainHeaders,
    fc.constantFrom(
      'content-type',
      'content-encoding',
      'idempotency-key',
      'authorization',
      'origin',
      'host',
      'x-odd',
    ),
    headerText,
  )
  .map(([sound, name, text]) => ({ ...sound, [name]: text }));

const headers = fc.oneof(
  { weight: 5, arbitrary: plainHeaders },
  { weight: 1, arbitrary: oddHeaders },
);

const url = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('/v1/events', '/events', '/v1/events?atomic=true') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('/v1/events?atomic=maybe', '/v1/events?%', '/v1//events'),
  },
  {
    weight: 1,
    arbitrary: fc
      .string({ maxLength: 600 })
      .map((session) => `/v1/sessions/${encodeURIComponent(session.toWellFormed())}/events`),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('/v1/sessions/%E0%A4/events', '/v1/sessions/%00/events'),
  },
);

async function send(request: TestRequest): Promise<{
  readonly answer: TestAnswer;
  readonly added: number;
}> {
  const before = bench.queue.totals().accepted;
  const answer = await bench.request(request);
  return { answer, added: bench.queue.totals().accepted - before };
}

/** What holds for every answer, whatever was sent. */
function check(answer: TestAnswer, added: number, isAtomic: boolean): void {
  const { status } = answer;
  expect(status < 500 || status === 503, `${status}: ${answer.text}`).toBe(true);
  expect(status).not.toBe(408);
  const { json } = answer;
  if (status >= 400) {
    expect(added, 'a refused request stores nothing').toBe(0);
    expect(json.error?.code).toMatch(/^[A-Z_]+$/);
    expect(json.error?.retryable).toBe(status === 429 || status === 503);
    return;
  }
  expect([200, 202, 207]).toContain(status);
  const results = json.results ?? [json];
  const queued = results.filter((result) => result['status'] === 'queued').length;
  expect(added, 'what is said to be queued is stored, and nothing else').toBe(queued);
  if (isAtomic) expect(status).not.toBe(207);
}

describe('fuzzed requests', () => {
  it('never get a 5xx other than 503, and what they are told is what was stored', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(body, headers, url, fc.boolean(), async (bytes, sent, path, isHonest) => {
        const packed = isHonest && sent['content-encoding'] === 'gzip' ? gzipSync(bytes) : bytes;
        const { answer, added } = await send({ url: path, headers: sent, body: packed });
        check(answer, added, path.includes('atomic=true'));
        seen.add(`${answer.status}`);
      }),
      { numRuns: 1500 },
    );
    // A fuzz that is always refused for one reason tests nothing.
    for (const status of ['202', '207', '400', '413', '422']) expect([...seen]).toContain(status);
  });

  it('leave only whole lines in the log, each of its own key', async () => {
    for (const { key } of await bench.queue.listKeys({ limit: 1000 })) {
      const { items } = await bench.queue.readBatch(key, { records: 100_000, bytes: 2 ** 30 });
      for (const { raw } of items) {
        const { record, fault } = parseLine(raw, key);
        expect(fault).toBeUndefined();
        expect(record?.key).toBe(key);
      }
      expect(parseKey(key)).toBe(key);
    }
  });

  it('are refused one by one where recorded clients have sent them', async () => {
    const file = new URL(
      '../data/amplifier/made-post-events-invalid-requests.ndjson',
      import.meta.url,
    );
    const lines = readFileSync(file, 'utf8').split('\n');
    const expected = [422, 422, 422, 422, 422, 202, 400];
    const statuses = [];
    for (const line of lines.filter((text) => text !== '')) {
      const { answer, added } = await send({ url: '/events', body: line });
      check(answer, added, false);
      statuses.push(answer.status);
    }
    expect(statuses).toEqual(expected);
  });
});
