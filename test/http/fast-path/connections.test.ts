import { afterEach, describe, expect, it } from 'vitest';
import { event } from '../../ingest/ingest-fixture.ts';
import { until } from '../../support/turn.ts';
import type { HttpBenchOptions } from '../http-fixture.ts';
import { postHead, rawClient } from '../raw-client.ts';
import { listening, type Listening, type Wire } from './fast-fixture.ts';

const opened: Listening[] = [];

async function bench(options: HttpBenchOptions = {}): Promise<Listening> {
  const made = await listening(options);
  opened.push(made);
  return made;
}

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const body = event();
const plain = postHead(Buffer.byteLength(body)) + body;
const timeouts = { checkMs: 20, headersMs: 60, requestMs: 200, keepAliveMs: 1000 };

/** A client whose request is in the queue, and whose answer waits for the disk. */
async function waiting(
  made: Listening,
): Promise<{ readonly wire: Wire; readonly release: () => void }> {
  const release = made.holdSyncs();
  const wire = await made.connect();
  await wire.send(plain);
  return { wire, release };
}

describe('a connection of the fast path', () => {
  it('holds what comes during an answer until it is written', async () => {
    const made = await bench();
    const { wire, release } = await waiting(made);
    await wire.send(plain);
    expect(wire.text()).toBe('');
    release();
    await wire.answered(2);
    expect(made.byNode.count, 'both were plain').toBe(0);
    wire.socket.destroy();
  });

  it('holds no more than one buffer of what comes during an answer', async () => {
    const made = await bench();
    const { wire, release } = await waiting(made);
    wire.socket.write(Buffer.alloc(8 * 1024 * 1024, 0x20));
    await until('it is read no more', () => wire.far.isPaused());
    for (let turns = 0; turns < 100; turns += 1) await new Promise((done) => setImmediate(done));
    expect(wire.far.readableLength).toBeLessThan(256 * 1024);
    release();
    expect(await wire.ended()).toMatch(/^HTTP\/1\.1 202 [\s\S]*HTTP\/1\.1 400 /);
  });

  it('stores what it has taken although the client has gone (ING-917)', async () => {
    const made = await bench();
    const { wire, release } = await waiting(made);
    wire.socket.resetAndDestroy();
    await until('it is gone', () => wire.far.destroyed);
    release();
    await until('it is stored', () => made.appended.length === 1);
    const next = await made.connect();
    await next.send(plain);
    await next.answered(1);
    next.socket.destroy();
  });

  it('gives the memory of each request back', async () => {
    const made = await bench();
    const wire = await made.connect();
    for (const bytes of [plain, postHead(2) + '{}', postHead(1) + '{', postHead(0)])
      await wire.send(bytes);
    await wire.answered(4);
    const all = 4 * 1024 * 1024;
    expect(() => made.ingest.reserve(all)).not.toThrow();
    made.ingest.release(all);
    wire.socket.destroy();
  });

  it('says 503 with Retry-After as Node’s way does, and goes on', async () => {
    const made = await bench();
    made.failNextSyncs(1);
    const wire = await made.connect();
    await wire.send(plain);
    const [refused] = await wire.answered(1);
    expect(refused?.status).toBe(503);
    expect(refused?.headers.join('\n')).toMatch(/^retry-after: \d+$/m);
    expect(made.byNode.count).toBe(0);
    wire.socket.destroy();
  });

  it('is closed when its client closes it, before a request and behind one', async () => {
    const made = await bench();
    for (const requests of [0, 1]) {
      const wire = await made.connect();
      if (requests > 0) await wire.send(plain);
      await wire.answered(requests);
      wire.socket.end();
      await wire.ended();
      await until('it is gone', () => wire.far.destroyed);
    }
    const { promise, resolve } = Promise.withResolvers<number>();
    made.server.app.server.getConnections((_, count) => resolve(count));
    expect(await promise).toBe(0);
  });

  it('is closed when nothing comes any more', async () => {
    const made = await bench({ timeouts: { ...timeouts, keepAliveMs: 40 } });
    const wire = await made.connect();
    await wire.send(plain);
    expect(await wire.ended()).toMatch(/^HTTP\/1\.1 202 /);
  });

  it('that never says anything is told as Node tells it (ING-022)', async () => {
    const made = await bench({ timeouts });
    const wire = await made.connect();
    expect(await wire.ended()).toMatch(/^HTTP\/1\.1 503 [\s\S]*REQUEST_INTERRUPTED/);
  });

  it('that stops within a request is told as Node tells it (ING-022)', async () => {
    const made = await bench({ timeouts });
    const wire = await made.connect();
    await wire.send(plain, plain.slice(0, 30));
    expect(await wire.ended()).toMatch(/^HTTP\/1\.1 202 [\s\S]*HTTP\/1\.1 503 /);
  });

  it('is none beyond the limit of connections (P9)', async () => {
    const made = await bench({ connectionsMax: 1 });
    const wire = await made.connect();
    await wire.send(plain);
    await wire.answered(1);
    expect(await (await rawClient(made.url)).ended()).toBe('');
    await wire.send(plain);
    await wire.answered(2);
    wire.socket.destroy();
  });
});

describe('closing with connections of the fast path', () => {
  it('ends idle ones and silent ones soon (P10)', async () => {
    const made = await bench();
    const idle = await made.connect();
    await idle.send(plain);
    await idle.answered(1);
    const silent = await made.connect();
    await made.server.close(600_000);
    await idle.ended();
    await silent.ended();
  });

  it('answers a first request that was on its way (P10)', async () => {
    const made = await bench();
    const wire = await made.connect();
    const closing = made.server.close(600_000);
    wire.socket.write(plain);
    // Ingest is not stopped here.
    expect(await wire.ended()).toMatch(/^HTTP\/1\.1 202 [\s\S]*\r\nConnection: close\r\n/);
    await closing;
  });

  it('answers what is in flight, says that it closes, and closes (P10)', async () => {
    const made = await bench();
    const { wire, release } = await waiting(made);
    const closing = made.server.close(600_000);
    release();
    expect(await wire.ended()).toMatch(/^HTTP\/1\.1 202 [\s\S]*\r\nConnection: close\r\n/);
    await closing;
  });

  it('cuts at its deadline what is not answered (P10)', async () => {
    const made = await bench();
    const { wire, release } = await waiting(made);
    await made.server.close(30);
    expect(await wire.ended()).toBe('');
    release();
    await until('it is stored all the same', () => made.appended.length === 1);
  });
});
