import { afterEach, describe, expect, it } from 'vitest';
import { AssertionFailed } from '#base';
import { platformError } from '#disk';
import { fenceStale, tenureLost } from '#fence';
import {
  backlogFull,
  commitConflict,
  cursorRequired,
  offsetCorrupt,
  queueFull,
  recordCorrupt,
  sessionQuarantined,
} from '#queue';
import { event } from '../ingest/ingest-fixture.ts';
import { httpBench, type HttpBench, type TestAnswer } from './http-fixture.ts';

const opened: HttpBench[] = [];

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

/** The answer to an event when the queue's append ends with `failure`. */
async function answerTo(failure: Error): Promise<TestAnswer> {
  const bench = await httpBench();
  opened.push(bench);
  bench.queue.append = () => Promise.reject(failure);
  return bench.request({ body: event() });
}

describe('an append that fails', () => {
  const keys = ['w~s'];
  it.each([
    [backlogFull({ keys, usedBytes: 1, limitBytes: 1 }), 429, 'BACKLOG_FULL'],
    [queueFull({ limit: 'x', usedBytes: 1, limitBytes: 1 }), 503, 'QUEUE_FULL'],
    [sessionQuarantined({ keys, reason: 'a test' }), 503, 'SESSION_QUARANTINED'],
    [tenureLost({ domain: 'd', generation: 1, reason: 'a test' }), 503, 'DRAINING'],
    [fenceStale({ domain: 'd', thing: 't', generation: 1, mark: 2 }), 503, 'DRAINING'],
    [offsetCorrupt({ key: 'w~s', reason: 'a test' }), 503, 'SESSION_QUARANTINED'],
    [recordCorrupt({ key: 'w~s', place: '0', reason: 'a test' }), 503, 'SESSION_QUARANTINED'],
    [commitConflict({ key: 'w~s', position: 'p' }), 503, 'QUEUE_WRITE_FAILED'],
  ])('of %s is answered %d %s, for the client to send it again', async (error, status, code) => {
    const answer = await answerTo(error);
    expect(answer.status).toBe(status);
    expect(answer.json.error).toMatchObject({ code, retryable: true });
    const seconds = Number(answer.headers['retry-after']);
    expect(Number.isInteger(seconds) && seconds >= 1).toBe(true);
  });

  it.each([
    new TypeError('undefined is not a function'),
    new AssertionFailed('a test'),
    cursorRequired({ key: 'w~s' }),
  ])('by a defect of the program is answered 500: %s', async (error) => {
    const answer = await answerTo(error);
    expect(answer.status).toBe(500);
    expect(answer.json.error?.retryable).toBe(false);
    expect(answer.headers['retry-after']).toBeUndefined();
  });

  it.each(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE'])(
    'by a fault of the machine is answered 503 for it to be sent again, whoever threw it: %s (D13, SC-026)',
    async (fault) => {
      const answer = await answerTo(platformError(fault, 'write', '/secret/path'));
      expect(answer.status).toBe(503);
      expect(answer.json.error).toMatchObject({ code: 'QUEUE_WRITE_FAILED', retryable: true });
      expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect(answer.text).not.toContain('secret');
    },
  );

  it('gives the memory of its body back', async () => {
    const bench = await httpBench();
    opened.push(bench);
    bench.queue.append = () => Promise.reject(new TypeError('a test'));
    for (let round = 0; round < 5; round += 1) await bench.request({ body: event() });
    expect(() => bench.ingest.reserve(4 * 1024 * 1024)).not.toThrow();
  });

  it('says when to come back, and not to all at the same time', async () => {
    const seconds = new Set<number>();
    const bench = await httpBench();
    opened.push(bench);
    bench.queue.append = () => Promise.reject(sessionQuarantined({ keys, reason: 'a test' }));
    for (let round = 0; round < 30; round += 1)
      seconds.add(Number((await bench.request({ body: event() })).headers['retry-after']));
    expect(seconds.size).toBeGreaterThan(5);
    expect(Math.min(...seconds)).toBeGreaterThanOrEqual(60);
    expect(Math.max(...seconds)).toBeLessThanOrEqual(90);
  });
});
