import { describe, expect, it } from 'vitest';
import type { MillraceError } from '#base';
import { isJsonObject } from '#base';
import { until } from '../support/turn.ts';
import {
  codeOf,
  event,
  ingestBench,
  post,
  postLines,
  principal,
  statuses,
  timestamp,
} from './ingest-fixture.ts';

describe('ingest of one event', () => {
  it('stores it and answers with its place once it is durable, not before (P1)', async () => {
    const bench = ingestBench();
    const release = bench.holdSyncs();
    let isAnswered = false;
    const answering = post(bench, event()).finally(() => {
      isAnswered = true;
    });
    await bench.clock.advance(10);
    expect(isAnswered).toBe(false);
    release();
    const answer = await answering;
    expect(answer).toMatchObject({ isSingle: true, queuedCount: 1, rejects: [] });
    expect(answer.outcomes[0]).toMatchObject({ status: 'queued', session: 's', workspace: 'w' });
    expect(await bench.stored()).toMatchObject([
      { v: 1, sid: 's', ws: 'w', by: 'local', ev: 'test:event', at: answer.acceptedAt },
    ]);
    expect(bench.appended).toEqual(['w~s']);
  });

  it('takes the session from the path, and refuses another one in the body', async () => {
    const bench = ingestBench();
    const nameless = `{"event":"e","workspace":"w","data":{"timestamp":"${timestamp}"}}`;
    const answer = await post(bench, nameless, { session: 'from-path' });
    expect(answer.outcomes[0]).toMatchObject({ status: 'queued', session: 'from-path' });
    expect(statuses(await post(bench, event(), { session: 'other' }))).toEqual(['EVENT_INVALID']);
  });

  it('gives an event without a session the key of its workspace, and answers null (ING-944)', async () => {
    const bench = ingestBench();
    const answer = await post(
      bench,
      `{"event":"e","workspace":"My Work","data":{"timestamp":"${timestamp}"}}`,
    );
    expect(answer.outcomes[0]).toMatchObject({ status: 'queued', session: null });
    expect(await bench.stored()).toMatchObject([{ sid: '_no_session__my-work', ws: 'My Work' }]);
  });

  it('keeps the other members of the body (ING-941)', async () => {
    const bench = ingestBench();
    await post(bench, event({ working_dir: '/src', idempotency_key: 'k1', created_by: 'me' }));
    const [line] = await bench.stored();
    expect(line).toMatchObject({ id: 'k1', more: { working_dir: '/src', created_by: 'me' } });
    expect(line?.['by']).toBe('local');
  });
});

describe('what is refused', () => {
  it.each([
    ['no JSON at all', 'hello', 'RECORD_NOT_JSON'],
    ['nothing', '', 'RECORD_NOT_JSON'],
    ['white space', ' \n', 'RECORD_NOT_JSON'],
    ['a cut event', event().slice(0, -1), 'RECORD_NOT_JSON'],
    ['a byte order mark', `\uFEFF${event()}`, 'RECORD_NOT_JSON'],
    ['two events in one document', `${event()}\n${event()}`, 'RECORD_FRAMING'],
    ['a number', '42', 'EVENT_INVALID'],
    ['no workspace', '{"event":"e","data":{"timestamp":"2026-01-01"}}', 'EVENT_INVALID'],
    ['a blank workspace', event({ workspace: '  ' }), 'SESSION_ID_INVALID'],
    ['no data', '{"event":"e","workspace":"w"}', 'EVENT_INVALID'],
    ['no timestamp', '{"event":"e","workspace":"w","data":{}}', 'EVENT_INVALID'],
    [
      'a control character in the session',
      event({}, { session_id: 'a\u0000b' }),
      'SESSION_ID_INVALID',
    ],
    ['two ids that differ', event({ event_id: 'a', idempotency_key: 'b' }), 'EVENT_INVALID'],
    ['nesting beyond all reason', event({}, { x: nested(600) }), 'EVENT_INVALID'],
    ['an event that is too large', event({}, { x: 'y'.repeat(70_000) }), 'RECORD_TOO_LARGE'],
  ])('refuses %s, with the reason, and stores nothing', async (_, body, code) => {
    const bench = ingestBench();
    const answer = await post(bench, body);
    expect(statuses(answer)).toEqual([code]);
    expect(answer.rejects[0]?.message.length).toBeGreaterThan(8);
    expect(answer.rejects[0]).toMatchObject({ index: 0, line: 1 });
    expect(await bench.stored()).toEqual([]);
    expect(bench.appended).toEqual([]);
  });

  it('refuses bytes that are not UTF-8 instead of repairing them', async () => {
    const bench = ingestBench();
    const body = Buffer.concat([
      Buffer.from('{"event":"e'),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ]);
    expect(statuses(await post(bench, body))).toEqual(['RECORD_NOT_JSON']);
  });

  it('names line, column and reason, and quotes nothing of what was sent (ING-918)', async () => {
    const bench = ingestBench();
    const answer = await post(bench, '{\n  "secret-of-mine": tru\n}');
    expect(answer.rejects[0]?.message).toBe(
      'this is not JSON: a value must stand here (line 2, column 21)',
    );
  });

  it('says everything that is wrong with an event, and where', async () => {
    const bench = ingestBench();
    const [reject] = (await post(bench, '{"event":"","workspace":7,"data":[]}')).rejects;
    expect(reject?.pointer).toBe('/event');
    expect(reject?.message).toMatch(/event is missing.*workspace is missing.*data is missing/);
  });

  it('keeps a token to its workspaces', async () => {
    const bench = ingestBench();
    const request = { principal: principal('agents', { workspaces: ['w'] }) };
    const answer = await postLines(bench, [event({ workspace: 'x' }), event()], request);
    expect(statuses(answer)).toEqual(['FORBIDDEN', 'queued']);
    expect(await bench.stored()).toMatchObject([{ ws: 'w', by: 'agents' }]);
  });

  it('keeps a session to its first writer, unless another has ops:write (ING-915)', async () => {
    const bench = ingestBench();
    await post(bench, event(), { principal: principal('first') });
    expect(statuses(await post(bench, event(), { principal: principal('second') }))).toEqual([
      'SESSION_OWNER_MISMATCH',
    ]);
    const operator = principal('operator', { mayWriteForeign: true });
    expect(statuses(await post(bench, event(), { principal: operator }))).toEqual(['queued']);
  });
});

describe('batches', () => {
  it('answers per record in order, and stores what is sound, in order (D19, P2)', async () => {
    const bench = ingestBench();
    const lines = [
      event({ event_id: 'a' }),
      '{"broken":',
      event({ event_id: 'b' }),
      '',
      event({ event_id: 'a' }),
      '[1]',
      event({ event_id: 'a' }, { other: 1 }),
      event({ event: 7 }),
      event({ event_id: 'c' }),
    ];
    const answer = await postLines(bench, lines);
    expect(answer.isSingle).toBe(false);
    expect(statuses(answer)).toEqual([
      'queued',
      'RECORD_NOT_JSON',
      'queued',
      'duplicate',
      'RECORD_FRAMING',
      'EVENT_ID_CONFLICT',
      'EVENT_INVALID',
      'queued',
    ]);
    expect(answer.rejects.map(({ index, line }) => [index, line])).toEqual([
      [1, 2],
      [4, 6],
      [5, 7],
      [6, 8],
    ]);
    expect(answer).toMatchObject({ queuedCount: 3, duplicateCount: 1 });
    expect((await bench.stored()).map((line) => line['id'])).toEqual(['a', 'b', 'c']);
    expect(bench.appended).toEqual(['w~s']);
  });

  it('takes an array like lines, and knows the line of each item', async () => {
    const bench = ingestBench();
    const body = `[\n${event({ event_id: 'a' })},\n\n {"event": 1},\n${event({ event_id: 'b' })} ]`;
    const answer = await post(bench, body);
    expect(statuses(answer)).toEqual(['queued', 'EVENT_INVALID', 'queued']);
    expect(answer.rejects[0]).toMatchObject({ index: 1, line: 4 });
    expect((await bench.stored()).map((line) => line['id'])).toEqual(['a', 'b']);
  });

  it('splits at the line feed alone, whatever else looks like a line break (D14)', async () => {
    const bench = ingestBench();
    const odd = event({}, { text: 'a\u2028b\u2029c\u0085d' });
    const answer = await post(bench, `${odd}\r\n${odd}\n`, { form: 'ndjson' });
    expect(statuses(answer)).toEqual(['queued', 'queued']);
    expect(await bench.stored()).toMatchObject([
      { data: { text: 'a\u2028b\u2029c\u0085d' } },
      { data: { text: 'a\u2028b\u2029c\u0085d' } },
    ]);
  });

  it('takes an empty batch as a success', async () => {
    const bench = ingestBench();
    expect((await post(bench, '[]')).outcomes).toEqual([]);
    expect((await post(bench, '', { form: 'ndjson' })).outcomes).toEqual([]);
    expect((await post(bench, '\n \r\n', { form: 'ndjson' })).outcomes).toEqual([]);
  });

  it('stores all or nothing when it is asked to be atomic', async () => {
    const bench = ingestBench();
    const isAtomic = true;
    await postLines(bench, [event({ event_id: 'a' })], { isAtomic });
    const broken = [event({ event_id: 'b' }), '{'];
    const conflicting = [event({ event_id: 'b' }), event({ event_id: 'a' }, { other: 1 })];
    for (const lines of [broken, conflicting]) {
      const error = await postLines(bench, lines, { isAtomic }).catch((caught: unknown) => caught);
      expect((error as MillraceError).code).toBe('BATCH_REFUSED');
      expect((error as MillraceError).details['errors']).toMatchObject([{ index: 1 }]);
    }
    expect((await bench.stored()).map((line) => line['id'])).toEqual(['a']);
    const known = await postLines(bench, [event({ event_id: 'a' }), event({ event_id: 'b' })], {
      isAtomic,
    });
    expect(statuses(known)).toEqual(['duplicate', 'queued']);
  });

  it('keeps nothing of a request whose records did not become durable, and takes it again (P1)', async () => {
    const bench = ingestBench();
    const lines = [
      event({ event_id: 'a' }),
      event({ event_id: 'b' }, { session_id: 't' }),
      event({ event_id: 'c' }),
    ];
    bench.failNextSyncs(1);
    expect(await codeOf(postLines(bench, lines))).toBe('QUEUE_WRITE_FAILED');
    expect(await bench.stored()).toEqual([]);
    expect(bench.appended).toEqual([]);
    expect(statuses(await postLines(bench, lines))).toEqual(['queued', 'queued', 'queued']);
    expect(await bench.stored()).toHaveLength(3);
  });
});

describe('ids', () => {
  it('answers a repeat with the first place, and other content with a conflict (D11, ING-517)', async () => {
    const bench = ingestBench();
    const first = await post(bench, event({ event_id: 'a' }, { n: 1, m: 2 }));
    const again = await post(
      bench,
      `{ "data": {"m":2,\n"timestamp":"${timestamp}","session_id":"s","n":1.0},"working_dir":"/x","event_id":"a","workspace":"w","event":"test:event"}`,
    );
    expect(statuses(again)).toEqual(['duplicate']);
    expect(again.outcomes[0]).toMatchObject({
      position: (first.outcomes[0] as { position: string }).position,
    });
    const other = await post(bench, event({ event_id: 'a' }, { n: 1, m: 3 }));
    expect(statuses(other)).toEqual(['EVENT_ID_CONFLICT']);
    expect(other.rejects[0]?.stored_sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(await bench.stored()).toHaveLength(1);
  });

  it('takes the id from any of its places, within its key (ING-512, ING-943)', async () => {
    const bench = ingestBench();
    await post(bench, event({ event_id: 'a' }));
    expect(statuses(await post(bench, event({ idempotency_key: 'a' })))).toEqual(['duplicate']);
    expect(statuses(await post(bench, event(), { idempotencyKey: 'a' }))).toEqual(['duplicate']);
    expect(statuses(await post(bench, event({ event_id: 'a', workspace: 'v' })))).toEqual([
      'queued',
    ]);
    expect(statuses(await post(bench, event({ event_id: 'b' }), { idempotencyKey: 'a' }))).toEqual([
      'EVENT_INVALID',
    ]);
    expect(await codeOf(postLines(bench, [event()], { idempotencyKey: 'a' }))).toBe(
      'EVENT_INVALID',
    );
  });

  it('takes records of one derived id as one, whatever their content (D21)', async () => {
    const bench = ingestBench();
    const answer = await postLines(bench, [
      event({ event_id: 'a', derived_id: true }),
      event({ event_id: 'a', derived_id: true }, { other: 1 }),
    ]);
    expect(statuses(answer)).toEqual(['queued', 'duplicate']);
  });

  it('never takes two events without an id for one (ING-514)', async () => {
    const bench = ingestBench();
    expect(statuses(await postLines(bench, [event(), event()]))).toEqual(['queued', 'queued']);
  });

  it('lets a second request wait for the first of the same id, and share its fate (ING-520)', async () => {
    for (const isFailing of [false, true]) {
      const bench = ingestBench();
      const release = bench.holdSyncs();
      const first = post(bench, event({ event_id: 'a' })).then(statuses, () => ['failed']);
      const second = post(bench, event({ event_id: 'a' })).then(statuses);
      await bench.clock.advance(10);
      if (isFailing) bench.failNextSyncs(1);
      release();
      expect(await first).toEqual([isFailing ? 'failed' : 'queued']);
      expect(await second).toEqual([isFailing ? 'queued' : 'duplicate']);
      expect(await bench.stored()).toHaveLength(1);
    }
  });

  it('gives up waiting at its deadline with an error that may pass (ING-520)', async () => {
    const bench = ingestBench();
    const release = bench.holdSyncs();
    const first = post(bench, event({ event_id: 'a' })).then(statuses);
    const second = post(bench, event({ event_id: 'a' })).catch((error: unknown) => error);
    await bench.clock.advance(6000);
    expect((await second) as MillraceError).toMatchObject({ disposition: 'retry' });
    release();
    expect(await first).toEqual(['queued']);
  });
});

describe('limits and stopping', () => {
  it('refuses a batch of too many records or bytes as a whole (P9)', async () => {
    const bench = ingestBench({ limits: { batchRecordsMax: 3, batchBytesMax: 2000 } });
    const lines = Array.from({ length: 4 }, () => event());
    expect(await codeOf(postLines(bench, lines))).toBe('BATCH_TOO_LARGE');
    expect(await codeOf(post(bench, `[${lines.join(',')}]`))).toBe('BATCH_TOO_LARGE');
    expect(await codeOf(post(bench, event({}, { x: 'y'.repeat(2000) })))).toBe('BATCH_TOO_LARGE');
    expect(await bench.stored()).toEqual([]);
    expect(() => bench.ingest.checkSize(2001)).toThrow(/max_batch_bytes/);
    expect(statuses(await postLines(bench, lines.slice(1)))).toHaveLength(3);
  });

  it('refuses one record that is too large and stores the others', async () => {
    const bench = ingestBench({ limits: { eventBytesMax: 1000 } });
    const large = event({}, { x: 'y'.repeat(1000) });
    const answer = await postLines(bench, [event(), large, event()]);
    expect(statuses(answer)).toEqual(['queued', 'RECORD_TOO_LARGE', 'queued']);
    expect(statuses(await post(bench, `[${large}]`))).toEqual(['RECORD_TOO_LARGE']);
  });

  it('counts the bodies in memory and says "later" at the limit (P9)', () => {
    const { ingest } = ingestBench({ limits: { inFlightBytesMax: 1000 } });
    ingest.reserve(900);
    expect(() => ingest.reserve(101)).toThrow(/memory for requests/);
    expect(() => ingest.checkSize(101)).toThrow(/memory for requests/);
    ingest.reserve(100);
    ingest.release(1000);
    expect(() => ingest.reserve(1000)).not.toThrow();
  });

  it('refuses a large body before it is read when the queue could not take it (ING-914)', async () => {
    const batchBytesMax = 64 * 1024 * 1024;
    const limits = { batchBytesMax, queueBytesMax: 2 * 1024 * 1024, inFlightBytesMax: 2 ** 30 };
    const bench = ingestBench({ limits });
    expect(() => bench.ingest.checkSize(2 * 1024 * 1024)).not.toThrow();
    await post(bench, event());
    expect(() => bench.ingest.checkSize(2 * 1024 * 1024)).toThrow(/queue.max_bytes/);
  });

  it('passes on what the queue says of its own limits, for the whole request (ING-023)', async () => {
    const bench = ingestBench({ queueLimits: { bytesPerKeyMax: 1000 } });
    const lines = Array.from({ length: 10 }, () => event());
    expect(await codeOf(postLines(bench, [event({}, { session_id: 't' }), ...lines]))).toBe(
      'BACKLOG_FULL',
    );
    expect(await bench.stored()).toEqual([]);
  });

  it('takes nothing new once it stops, and ends when the last request is answered (P10)', async () => {
    const bench = ingestBench();
    const release = bench.holdSyncs();
    const answering = post(bench, event()).then(statuses);
    let isStopped = false;
    const stopping = bench.ingest.stop().then(() => {
      isStopped = true;
    });
    expect(await codeOf(post(bench, event()))).toBe('DRAINING');
    expect(() => bench.ingest.checkSize(1)).toThrow(/stopping/);
    await bench.clock.advance(10);
    expect(isStopped).toBe(false);
    release();
    expect(await answering).toEqual(['queued']);
    await stopping;
  });

  it('says that a session is in quarantine, and takes its events all the same (ING-411)', async () => {
    const bench = ingestBench();
    const first = await post(bench, event());
    expect(first.isQuarantined).toBe(false);
    await bench.queue.quarantine('w~s' as never, { code: 'CURSOR_CORRUPT', message: 'a test' });
    await bench.clock.advance(300);
    expect((await post(bench, event())).isQuarantined).toBe(true);
    expect((await post(bench, event({}, { session_id: 'other' }))).isQuarantined).toBe(false);
  });

  it('lets other requests in while it checks a large batch', async () => {
    const limits = { batchRecordsMax: 100_000, batchBytesMax: 2 ** 26, eventBytesMax: 2 ** 20 };
    const bench = ingestBench({ limits });
    const lines = Array.from({ length: 40 }, () => event({}, { x: 'y'.repeat(100_000) }));
    const order: string[] = [];
    const large = postLines(bench, lines).then(() => order.push('large'));
    const small = post(bench, event({}, { session_id: 't' })).then(() => order.push('small'));
    await until('the small request is answered', () => order.length > 0);
    await bench.clock.advance(1000);
    await Promise.all([large, small]);
    expect(order).toEqual(['small', 'large']);
    expect((await bench.stored()).every(isJsonObject)).toBe(true);
  });
});

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let at = 0; at < depth; at += 1) value = [value];
  return value;
}
