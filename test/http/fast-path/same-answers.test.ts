import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event } from '../../ingest/ingest-fixture.ts';
import { head } from '../raw-client.ts';
import { listening, played, withoutEpochs, type Listening } from './fast-fixture.ts';

/** The same bytes to a server with the fast path and to one without: nobody can tell them apart. */

let fast: Listening;
let plain: Listening;
let authorization: string;

beforeAll(async () => {
  const options = { limits: { eventBytesMax: 20_000, batchBytesMax: 30_000 } };
  fast = await listening(options);
  plain = await listening({ ...options, fastPath: false });
  const token = { name: 'agents', scopes: ['ingest:write'] } as const;
  const [one, other] = [await fast.header(token), await plain.header(token)];
  expect(one, 'both have the same chances').toEqual(other);
  await fast.tokens.add({ name: 'reader', scopes: ['ops:read'] });
  await plain.tokens.add({ name: 'reader', scopes: ['ops:read'] });
  authorization = `Authorization: ${one.authorization}`;
});

afterAll(async () => {
  const [one, other] = [await fast.stored(), await plain.stored()];
  expect(withoutEpochs(JSON.stringify(one))).toBe(withoutEpochs(JSON.stringify(other)));
  await fast.close();
  await plain.close();
});

const first = 'POST /v1/events HTTP/1.1';
const host = 'Host: 127.0.0.1';
const json = 'Content-Type: application/json';
const body = event({}, { note: 'größer' });

function length(text: string): string {
  return `Content-Length: ${Buffer.byteLength(text)}`;
}

/** A sound request, its head lines changed by `lines`; what is undefined goes. */
function post(
  text: string = body,
  lines: Readonly<Record<string, string | undefined>> = {},
): string {
  const all = { first, host, json, length: length(text), authorization, ...lines };
  return head(Object.values(all).filter((line) => line !== undefined)) + text;
}

type Way = 'fast' | 'node';

async function expectSame(
  parts: readonly (string | Buffer)[],
  expected: { readonly way: Way; readonly statuses: readonly number[] },
): Promise<void> {
  const { way, statuses } = expected;
  fast.byNode.count = 0;
  const next = post(body);
  const told = await played(fast, parts, statuses.length, next);
  const byNode = fast.byNode.count;
  expect(told).toEqual(await played(plain, parts, statuses.length, next));
  expect(told.answers.map(({ status }) => status)).toEqual(statuses);
  if (way === 'fast') expect(byNode, 'requests that Node has read').toBe(0);
  else expect(told.end === 'closed' || byNode > 0, 'Node has read it').toBe(true);
}

describe('what is plain is answered by the fast path as Node does', () => {
  const wide = 'x'.repeat(25_000);
  const cases: Record<string, [() => string | Buffer, number]> = {
    'an event': [() => post(), 202],
    'the route of the predecessor': [() => post(body, { first: 'POST /events HTTP/1.1' }), 202],
    'a batch': [
      () => post(`${body}\n${body}\n`, { json: 'Content-Type: application/x-ndjson' }),
      202,
    ],
    'an array': [() => post(`[${body},${body}]`), 202],
    'a batch of which one event is wrong': [
      () => post(`${body}\n{}\n`, { json: 'Content-Type: application/x-ndjson' }),
      207,
    ],
    'an event with an id': [() => post(event({ event_id: 'same' })), 202],
    'the same event again': [() => post(event({ event_id: 'same' })), 200],
    'the same event again, where that is no other answer': [
      () => post(event({ event_id: 'same' }), { first: 'POST /events HTTP/1.1' }),
      202,
    ],
    'another event with the same id': [() => post(event({ event_id: 'same' }, { n: 1 })), 409],
    'an idempotency key': [() => post(body, { key: 'Idempotency-Key: once' }), 202],
    'names in capitals': [() => post().replace(/^[\w-]+:/gm, (name) => name.toUpperCase()), 202],
    'names in small letters': [
      () => post().replace(/^[\w-]+:/gm, (name) => name.toLowerCase()),
      202,
    ],
    'no space behind the colon': [() => post().replaceAll(/^([\w-]+:) /gm, '$1'), 202],
    'an own header': [() => post(body, { own: 'X-Own: a b  c!' }), 202],
    'a connection to be kept': [() => post(body, { connection: 'Connection: Keep-Alive' }), 202],
    'an own Origin': [() => post(body, { origin: 'Origin: http://127.0.0.1' }), 202],
    'a foreign Origin': [() => post(body, { origin: 'Origin: https://elsewhere.example' }), 403],
    'a foreign Host': [() => post(body, { host: 'Host: elsewhere.example' }), 403],
    'a Host that is none': [() => post(body, { host: 'Host: a@b' }), 403],
    'another root': [() => post(body, { root: 'Millrace-Root: SR-other' }), 421],
    'no token': [() => post(body, { authorization: undefined }), 401],
    'an unknown token': [() => post(body, { authorization: 'Authorization: Bearer mr_x' }), 401],
    'no token and no body': [() => post('', { authorization: undefined }), 401],
    'no body': [() => post(''), 400],
    'no body and no type': [() => post('', { json: undefined }), 400],
    'no type': [() => post(body, { json: undefined }), 415],
    'an unknown type': [() => post(body, { json: 'Content-Type: text/plain' }), 415],
    'an unknown charset': [
      () => post(body, { json: 'Content-Type: application/json; charset=latin1' }),
      415,
    ],
    'a type with a charset': [
      () => post(body, { json: 'Content-Type: application/json; charset=utf-8' }),
      202,
    ],
    'no JSON': [() => post('{"event":'), 400],
    'no event': [() => post('{}'), 422],
    'an event that is too large': [() => post(event({}, { wide })), 413],
    'a body that is too large': [() => post(event({}, { wide: wide + wide })), 413],
    'bytes that are no UTF-8': [
      () =>
        Buffer.concat([Buffer.from(post('').replace('Length: 0', 'Length: 2')), bytes(0xff, 0x00)]),
      400,
    ],
  };
  it.each(Object.entries(cases))('%s', async (_, [make, status]) => {
    await expectSame([make()], { way: 'fast', statuses: [status] });
  });

  it('one request after the other, also from the same head with other lengths', async () => {
    const parts = [post(), post(event()), post('{}'), post(), post(event({}, { n: 10 ** 20 }))];
    await expectSame(parts, { way: 'fast', statuses: [202, 202, 422, 202, 202] });
  });
});

describe('what is not plain is left to Node', () => {
  const chunked = `5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n`;
  const cases: Record<string, [() => string | Buffer, readonly number[]]> = {
    'a query': [() => post(body, { first: 'POST /v1/events?atomic=true HTTP/1.1' }), [202]],
    'a whole address': [
      () => post(body, { first: 'POST http://127.0.0.1/v1/events HTTP/1.1' }),
      [202],
    ],
    'another method': [() => post(body, { first: 'PUT /v1/events HTTP/1.1' }), [404]],
    'a method in small letters': [() => post(body, { first: 'post /v1/events HTTP/1.1' }), [400]],
    'another path': [() => post(body, { first: 'POST /v1/event HTTP/1.1' }), [404]],
    'two spaces': [() => post(body, { first: 'POST  /v1/events HTTP/1.1' }), [202]],
    'HTTP/1.0': [() => post(body, { first: 'POST /v1/events HTTP/1.0' }), [202]],
    'HTTP/2': [() => post(body, { first: 'POST /v1/events HTTP/2.0' }), [202]],
    'an empty line before': [() => `\r\n${post()}`, [202]],
    'a connection to be closed': [() => post(body, { connection: 'Connection: close' }), [202]],
    chunks: [() => post('', { length: 'Transfer-Encoding: chunked' }) + chunked, [422]],
    'chunks and a length': [
      () => post('', { length: 'Content-Length: 5\r\nTransfer-Encoding: chunked' }) + chunked,
      [400],
    ],
    'a length and chunks': [
      () => post('', { length: 'Transfer-Encoding: chunked\r\nContent-Length: 5' }) + chunked,
      [400],
    ],
    'two lengths': [() => post(body, { more: 'Content-Length: 5' }), [400]],
    'the same length twice': [() => post(body, { more: length(body) }), [400]],
    'a list of lengths': [() => post(body, { length: 'Content-Length: 5, 5' }), [400]],
    'a length with a sign': [() => post(body).replace('Length: ', 'Length: +'), [400]],
    'a negative length': [() => post(body).replace('Length: ', 'Length: -'), [400]],
    'a length with a leading zero': [() => post(body).replace('Length: ', 'Length: 0'), [202]],
    'a length in hex': [() => post(body).replace('Length: ', 'Length: 0x'), [400]],
    'a length with a space behind': [() => post(body, { length: `${length(body)} ` }), [202]],
    'no length': [() => post('', { length: undefined }), [400]],
    'no Host': [() => post(body, { host: undefined }), [400]],
    'two Hosts': [() => post(body, { host: `${host}\r\nHost: elsewhere.example` }), [202]],
    'an empty Host': [() => post(body, { host: 'Host:' }), [403]],
    'two types': [() => post(body, { json: `${json}\r\nContent-Type: text/plain` }), [202]],
    'two tokens': [() => post(body, { more: 'Authorization: Bearer other' }), [202]],
    'a folded header': [() => post(body, { own: 'X-Own: a\r\n b' }), [400]],
    'a space before the colon': [() => post(body, { host: 'Host : 127.0.0.1' }), [400]],
    'a tab in a value': [() => post(body, { own: 'X-Own: a\tb' }), [202]],
    'a bare LF': [() => post(body, { own: 'X-Own: a\nX-Other: b' }), [400]],
    'a bare CR': [() => post(body, { own: 'X-Own: a\rX-Other: b' }), [400]],
    'all lines by LF alone': [() => post(body).replaceAll('\r\n', '\n'), [400]],
    'NUL in a value': [() => post(body, { own: 'X-Own: a\0b' }), [400]],
    'a value beyond ASCII': [() => Buffer.from(post(event(), { own: 'X-Own: ä' })), [202]],
    'a name with an underscore': [() => post(body, { own: 'X_Own: a' }), [202]],
    'an upgrade': [() => post(body, { own: 'Connection: Upgrade\r\nUpgrade: h2c' }), [202]],
    'a packed body': [() => post(body, { own: 'Content-Encoding: gzip' }), [400]],
    'a CloudEvent': [
      () => post(body, { json: 'Content-Type: application/cloudevents+json' }),
      [422],
    ],
    'a CloudEvent in headers': [() => post(body, { own: 'ce-specversion: 1.0' }), [422]],
    'many headers': [
      () => post(body, { own: Array.from({ length: 70 }, (_, at) => `X-${at}: 1`).join('\r\n') }),
      [202],
    ],
    'a long head': [() => post(body, { own: `X-Own: ${'x'.repeat(9000)}` }), [202]],
    'a head beyond all limits': [() => post(body, { own: `X-Own: ${'x'.repeat(20_000)}` }), [431]],
    'two requests at once': [() => post() + post(), [202, 202]],
    'a request and broken bytes': [() => `${post('{}')}\r\nnonsense\r\n\r\n`, []],
    'no HTTP': [() => 'hello\r\n\r\n', [400]],
    'a TLS hello': [() => bytes(0x16, 3, 1, 2, 0, 1), [400]],
  };
  it.each(Object.entries(cases))('%s', async (_, [make, statuses]) => {
    await expectSame([make()], { way: 'node', statuses });
  });

  it('what asks before it sends', async () => {
    const asked = post(body, { own: 'Expect: 100-continue' });
    const end = asked.indexOf('\r\n\r\n') + 4;
    await expectSame([asked.slice(0, end), asked.slice(end)], {
      way: 'node',
      statuses: [100, 202],
    });
  });

  it('a request and half of the next', async () => {
    const both = post() + post();
    const cut = both.length - 10;
    await expectSame([both.slice(0, cut), both.slice(cut)], { way: 'node', statuses: [202, 202] });
  });

  it('a request that comes in two parts, wherever it is cut', async () => {
    const whole = Buffer.from(post());
    for (let cut = 1; cut < whole.byteLength; cut += 1)
      await expectSame([whole.subarray(0, cut), whole.subarray(cut)], {
        way: 'node',
        statuses: [202],
      });
  });

  it('a connection from there on, whatever it carried before', async () => {
    const query = post(body, { first: 'POST /v1/events?atomic=true HTTP/1.1' });
    const status = head(['GET /v1/status HTTP/1.1', host]);
    await expectSame([post(), query, post(), status, post('{}')], {
      way: 'node',
      statuses: [202, 202, 202, 200, 422],
    });
  });
});

function bytes(...values: readonly number[]): Buffer {
  return Buffer.from(values);
}
