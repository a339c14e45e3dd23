import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { platformError } from '#disk';
import { queueLimitsDefault } from '#queue';
import { event, timestamp } from '../ingest/ingest-fixture.ts';
import { httpBench, type HttpBench, type HttpBenchOptions } from '../http/http-fixture.ts';

const opened: HttpBench[] = [];

async function bench(options: HttpBenchOptions = {}): Promise<HttpBench> {
  const one = await httpBench(options);
  opened.push(one);
  return one;
}

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const ndjson = { 'content-type': 'application/x-ndjson' };

describe('encoding', () => {
  const nasty = '\u2028 \u2029 \u0085 \u000b \u000c \u0000 \ud800 é 🦀';

  it('SC-011 events with separators that only some readers split at are as many as were sent, by JSON and by NDJSON', async () => {
    const one = await bench();
    // Unescaped where JSON allows it: U+2028, U+2029 and U+0085 stand in the bytes as they are.
    const body = (at: number): string => event({ event_id: `e${at}` }, { text: nasty });
    expect((await one.request({ body: body(0) })).status).toBe(202);
    const lines = [1, 2, 3].map(body).join('\n');
    const answer = await one.request({ body: lines, headers: ndjson });
    expect(answer.status).toBe(202);
    expect(answer.json.results).toHaveLength(3);
    const stored = await one.stored();
    expect(stored).toHaveLength(4);
    for (const { data } of stored) expect((data as { text: string }).text).toBe(nasty);
  });
});

describe('ids', () => {
  for (const length of [1, 200, 255, 256, 300, 512, 513, 4096])
    it(`SC-013 U7 a session id of ${length} characters is taken and readable, or refused by name: never a failure of ours`, async () => {
      const one = await bench();
      for (const letter of ['a', 'é', '/', '🦀']) {
        const session_id = letter.repeat(length);
        const answer = await one.request({ body: event({}, { session_id }) });
        expect([202, 400, 422]).toContain(answer.status);
        expect(answer.status === 202).toBe(Buffer.byteLength(session_id) <= 512);
        if (answer.status !== 202) continue;
        const sids = (await one.stored()).map(({ sid }) => sid);
        expect(sids).toContain(session_id);
      }
    });
});

describe('HTTP', () => {
  it('SC-014 a small packed body of two hundred million zeros is refused before it is held, known or unknown, one member or several', async () => {
    const zeros = gzipSync(Buffer.alloc(50 * 2 ** 20));
    const packed = Buffer.concat([zeros, zeros, zeros, zeros]);
    expect(packed.byteLength).toBeLessThan(2 ** 20);
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const open = await bench();
    const before = process.memoryUsage().rss;
    expect((await open.request({ body: packed, headers })).status).toBe(413);
    const closed = await bench({
      firstToken: { name: 'x', scopes: ['ingest:write'] },
    });
    expect([401, 413]).toContain((await closed.request({ body: packed, headers })).status);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20);
    expect(await open.stored()).toEqual([]);
  });

  it('SC-015 a batch with one bad line is 207 with its index first and the others stored, or nothing at all when the client asks so', async () => {
    const one = await bench();
    const lines = Array.from({ length: 100 }, (_, at) =>
      at === 17 ? '{"event":' : event({ event_id: `e${at}` }),
    );
    const answer = await one.request({ body: lines.join('\n'), headers: ndjson });
    expect(answer.status).toBe(207);
    expect(answer.json.rejects?.map(({ index }) => index)).toEqual([17]);
    expect(await one.stored()).toHaveLength(99);
    const two = await bench();
    const url = '/v1/events?atomic=true';
    const refused = await two.request({ url, body: lines.join('\n'), headers: ndjson });
    expect(refused.status).toBe(400);
    expect(await two.stored()).toEqual([]);
  });

  it('SC-027 an event of one byte too much is 413, alone or as its own record of a batch; at the limit it is taken; nothing vanishes', async () => {
    const eventBytesMax = 4096;
    const one = await bench({ limits: { eventBytesMax } });
    const sized = (bytes: number, id: string): string => {
      const empty = Buffer.byteLength(event({ event_id: id }, { text: '' }));
      return event({ event_id: id }, { text: 'x'.repeat(bytes - empty) });
    };
    expect((await one.request({ body: sized(eventBytesMax - 1, 'a') })).status).toBe(202);
    expect((await one.request({ body: sized(eventBytesMax, 'b') })).status).toBe(202);
    expect((await one.request({ body: sized(eventBytesMax + 1, 'c') })).status).toBe(413);
    const lines = [-1, 0, 1].map((more) => sized(eventBytesMax + more, `d${more + 1}`));
    const batch = await one.request({ body: lines.join('\n'), headers: ndjson });
    expect(batch.status).toBe(207);
    expect(batch.json.rejects).toMatchObject([{ index: 2, code: 'RECORD_TOO_LARGE' }]);
    expect((await one.stored()).map(({ id }) => id)).toEqual(['a', 'b', 'd0', 'd1']);
  });
});

describe('SC-026 passing trouble is 429 or 503 with Retry-After, and nothing of the request is kept:', () => {
  const long = event({}, { text: 'x'.repeat(3_000) });
  interface Limit {
    readonly name: string;
    readonly status: 429 | 503;
    readonly options?: HttpBenchOptions;
    readonly reach?: (one: HttpBench) => unknown;
    readonly body?: string;
    readonly headers?: Readonly<Record<string, string>>;
  }
  const reachedBy = (one: HttpBench, error: Error): void => {
    one.queue.append = () => Promise.reject(error);
  };
  const limits: readonly Limit[] = [
    {
      name: 'the backlog of one session',
      status: 429,
      options: { queueLimits: { ...queueLimitsDefault, bytesPerKeyMax: 2_000 } },
    },
    {
      name: 'the backlog of all sessions',
      status: 503,
      options: { queueLimits: { ...queueLimitsDefault, bytesMax: 2_000 } },
    },
    {
      name: 'the backlog of a session in quarantine',
      status: 503,
      options: { queueLimits: { ...queueLimitsDefault, quarantineBacklogBytesMax: 2_000 } },
      reach: async (one) => {
        await one.request({ body: event({ event_id: 'before' }) });
        const [status] = await one.queue.listKeys({ limit: 1 });
        if (status !== undefined)
          await one.queue.quarantine(status.key, { code: 'RECORD_CORRUPT', message: 'a test' });
      },
    },
    {
      name: 'memory for bodies',
      status: 503,
      reach: (one) => one.ingest.reserve(4 * 1024 * 1024),
    },
    {
      name: 'a body that cannot fit into the queue any more, before it is read',
      status: 503,
      options: {
        limits: {
          queueBytesMax: 1_000,
          batchBytesMax: 8 * 2 ** 20,
          eventBytesMax: 8 * 2 ** 20,
          inFlightBytesMax: 2 ** 30,
        },
      },
      body: event({}, { text: 'x'.repeat(2 * 2 ** 20) }),
    },
    { name: 'a daemon that stops', status: 503, reach: (one) => void one.ingest.stop() },
    { name: 'a disk that fails', status: 503, reach: (one) => one.failNextSyncs(1) },
    ...['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE'].map((code): Limit => ({
      name: `a fault of the machine that nobody has named (${code})`,
      status: 503,
      reach: (one) => reachedBy(one, platformError(code, 'write', '/x')),
    })),
  ];
  for (const { name, status, options = {}, reach, body = long, headers = {} } of limits)
    it(`SC-026 ${name}`, async () => {
      const one = await bench(options);
      await reach?.(one);
      const before = one.queue.totals().accepted;
      const answer = await one.request({ body, headers });
      expect(answer.status).toBe(status);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect(answer.json.error).toMatchObject({ retryable: true });
      expect(answer.json.error?.retry_after_ms).toBeGreaterThanOrEqual(1000);
      expect(one.queue.totals().accepted).toBe(before);
    });

  it('SC-026 an id whose first request does not end is waited for within a bound, and then "later"', async () => {
    const one = await bench({ limits: { idWaitMs: 50 } });
    const letGo = one.holdSyncs();
    const body = JSON.stringify({
      event: 'test:event',
      workspace: 'w',
      event_id: 'k',
      data: { session_id: 's', timestamp },
    });
    const first = one.request({ body });
    const second = one.request({ body });
    for (let turns = 0; turns < 20; turns += 1) await one.clock.advance(100);
    expect((await second).status).toBe(503);
    expect(Number((await second).headers['retry-after'])).toBeGreaterThanOrEqual(1);
    letGo();
    expect((await first).status).toBe(202);
  });
});
