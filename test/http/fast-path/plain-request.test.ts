import { createServer, type IncomingMessage, type Server } from 'node:http';
import { Duplex } from 'node:stream';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { readPlain, type PlainHead } from '../../../src/http/fast-path/plain-request.ts';

const lines = [
  'POST /v1/events HTTP/1.1',
  'Host: 127.0.0.1:1234',
  'Content-Type: application/json',
  'Content-Length: 2',
];

function request(changed: readonly string[] = lines, body = '{}'): Buffer {
  return Buffer.from(`${changed.join('\r\n')}\r\n\r\n${body}`, 'latin1');
}

function withLine(line: string): Buffer {
  return request([...lines, line]);
}

function withLength(length: string): Buffer {
  return request([...lines.slice(0, 3), length]);
}

describe('readPlain', () => {
  it('tells headers as Node does, and where the body lies', () => {
    const chunk = withLine('X-Own:  a  b'.replace('  a', ' a'));
    const read = readPlain(chunk, undefined);
    expect(read?.head.url).toBe('/v1/events');
    expect(read?.headers).toEqual({
      host: '127.0.0.1:1234',
      'content-type': 'application/json',
      'content-length': '2',
      'x-own': 'a  b',
    });
    expect(chunk.toString('latin1', read?.bodyAt)).toBe('{}');
    expect(read?.bodyBytes).toBe(2);
  });

  it.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['half a head', request().subarray(0, 60)],
    ['another method', request(['PUT /v1/events HTTP/1.1', ...lines.slice(1)])],
    ['a query', request(['POST /v1/events?a HTTP/1.1', ...lines.slice(1)])],
    ['HTTP/1.0', request(['POST /v1/events HTTP/1.0', ...lines.slice(1)])],
    ['no Host', request([lines[0] ?? '', ...lines.slice(2)])],
    ['no length', request(lines.slice(0, 3))],
    ['two lengths', withLine('content-length: 2')],
    ['two lengths that differ', withLine('Content-Length: 3')],
    ['two Hosts', withLine('Host: other')],
    ['two of any name', request([...lines, 'X-A: 1', 'x-a: 2'])],
    ['a length of ten digits', withLength('Content-Length: 1000000000')],
    ['a length with a sign', withLength('Content-Length: +2')],
    ['a negative length', withLength('Content-Length: -2')],
    ['a length with a leading zero', withLength('Content-Length: 02')],
    ['a list of lengths', withLength('Content-Length: 2, 2')],
    ['an empty length', withLength('Content-Length:')],
    ['chunks', withLine('Transfer-Encoding: chunked')],
    ['a question', withLine('Expect: 100-continue')],
    ['an upgrade', withLine('Upgrade: h2c')],
    ['trailers', withLine('Trailer: X-Sum')],
    ['TE', withLine('TE: trailers')],
    ['a packed body', withLine('Content-Encoding: identity')],
    ['a connection to be closed', withLine('Connection: close')],
    ['a list of options', withLine('Connection: keep-alive, upgrade')],
    ['a cookie to be set', withLine('Set-Cookie: a=b')],
    ['a CloudEvent', withLine('Ce-Id: 1')],
    ['a folded line', request([...lines, 'X-A: 1', ' 2'])],
    ['two spaces before the value', withLine('X-A:  1')],
    ['a space behind the value', withLine('X-A: 1 ')],
    ['a space before the colon', withLine('X-A : 1')],
    ['a tab', withLine('X-A: 1\t2')],
    ['no name', withLine(': 1')],
    ['no value', withLine('X-A:')],
    ['no colon', withLine('X-A')],
    ['a bare LF', withLine('X-A: 1\nX-B: 2')],
    ['a bare CR', withLine('X-A: 1\rX-B: 2')],
    ['NUL', withLine('X-A: 1\0')],
    ['DEL', withLine('X-A: 1\x7f')],
    ['beyond ASCII', withLine('X-A: \xe4')],
    ['a prototype', withLine('__proto__: 1')],
    ['65 headers', request([...lines, ...Array.from({ length: 62 }, (_, at) => `X-${at}: 1`)])],
    ['a head of more than 8 KiB', withLine(`X-A: ${'x'.repeat(8200)}`)],
  ])('leaves %s to Node', (_, chunk) => {
    expect(readPlain(chunk, undefined)).toBeUndefined();
    const known = readPlain(request(), undefined)?.head;
    expect(readPlain(chunk, known), 'whatever came before').toBeUndefined();
  });

  it('takes what clients send', () => {
    for (const line of [
      'Accept: */*',
      'User-Agent: python-requests/2.32.3',
      'Connection: keep-alive',
      'Authorization: Bearer abc',
      'constructor: a',
      'X-64: "quoted; text"',
    ])
      expect(readPlain(withLine(line), undefined), line).toBeDefined();
  });

  it('knows a head again by its bytes, with another length too', () => {
    const first = readPlain(request(), undefined);
    const longer = request([...lines.slice(0, 3), 'Content-Length: 12'], '{"longer":1}');
    const again = readPlain(longer, first?.head);
    expect(again?.head, 'it was not read again').toBe(first?.head);
    expect(again).toEqual({ ...readPlain(longer, undefined), head: first?.head });
    const other = readPlain(withLine('X-A: 1'), first?.head);
    expect(other?.head).not.toBe(first?.head);
    expect(other?.headers['x-a']).toBe('1');
  });

  it('keeps no body in memory with the head', () => {
    const chunk = request(lines, 'x'.repeat(50_000));
    const head = readPlain(chunk, undefined)?.head;
    expect(head?.before.buffer).not.toBe(chunk.buffer);
    expect(head?.after.buffer).not.toBe(chunk.buffer);
  });
});

interface NodeRead {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** What Node makes of the bytes of one connection; `closed` once it gave up on them. */
class NodeReader {
  readonly #server: Server = createServer();

  read(chunk: Buffer): Promise<readonly NodeRead[]> {
    const reads: NodeRead[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<readonly NodeRead[]>();
    const wire = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
    this.#server.removeAllListeners();
    this.#server.on('connection', NodeReader.#listener);
    this.#server.on('clientError', (error) => reject(error));
    this.#server.on('request', (message) => {
      const parts: Buffer[] = [];
      message.on('data', (part: Buffer) => parts.push(part));
      message.on('end', () => {
        const { method, url, headers } = message;
        reads.push({ method, url, headers, body: Buffer.concat(parts).toString('latin1') });
        setImmediate(() => resolve(reads));
      });
    });
    this.#server.emit('connection', wire);
    wire.push(chunk);
    return promise.finally(() => wire.destroy());
  }

  close(): void {
    this.#server.close();
  }

  static readonly #listener = createServer().listeners('connection')[0] as () => void;
}

const text = fc.string({
  unit: fc.constantFrom(...' \t!-:;,/"\\az09\r\n\0\x7f\xe4'.split('')),
  maxLength: 8,
});
const name = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('X-A', 'accept', 'USER-AGENT', 'Origin', 'cookie', 'Keep-Alive'),
  },
  { weight: 1, arbitrary: fc.constantFrom('Content-Length', 'Transfer-Encoding', 'Host', 'TE') },
  { weight: 1, arbitrary: text },
);
const value = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('1', 'a b', '*/*', 'chunked', 'close', 'keep-alive') },
  { weight: 1, arbitrary: text },
);
const spoiling = fc.option(fc.tuple(fc.nat(), fc.nat({ max: 3 }), text), {
  freq: 2,
  nil: undefined,
});

/** Sound requests, and such with a header or some bytes that are odd. */
const requests = fc
  .record({
    path: fc.constantFrom('/v1/events', '/events'),
    more: fc.array(fc.tuple(name, fc.constantFrom(': ', ':'), value), { maxLength: 4 }),
    body: fc.string({ maxLength: 30 }),
    spoiling,
  })
  .map(({ path, more, body, spoiling: spoilt }) => {
    const bytes = Buffer.from(body, 'latin1');
    const sound = request(
      [
        `POST ${path} HTTP/1.1`,
        'Host: a',
        `Content-Length: ${bytes.byteLength}`,
        ...more.map((parts) => parts.join('')),
      ],
      body,
    );
    if (spoilt === undefined) return sound;
    const [place, length, put] = spoilt;
    const at = place % (sound.byteLength + 1);
    const after = sound.subarray(Math.min(sound.byteLength, at + length));
    return Buffer.concat([sound.subarray(0, at), Buffer.from(put, 'latin1'), after]);
  });

describe('whatever the fast path takes', () => {
  const node = new NodeReader();
  afterAll(() => node.close());

  it('Node takes too, and reads the same', async () => {
    let taken = 0;
    let known: PlainHead | undefined;
    await fc.assert(
      fc.asyncProperty(requests, async (chunk) => {
        const read = readPlain(chunk, known);
        const fresh = readPlain(chunk, undefined);
        expect(read?.headers, 'what came before is no matter').toEqual(fresh?.headers);
        known = read?.head ?? known;
        if (read === undefined || chunk.byteLength !== read.bodyAt + read.bodyBytes) return;
        taken += 1;
        const { headers, bodyAt } = read;
        const body = chunk.toString('latin1', bodyAt);
        const { url } = read.head;
        expect(await node.read(chunk)).toEqual([{ method: 'POST', url, headers, body }]);
      }),
      {
        numRuns: 1500,
        examples: [
          [request()],
          [withLine('constructor: a')],
          [withLine('Keep-Alive: timeout=1')],
          [request([...lines.slice(0, 3), 'Content-Length: 0'], '')],
        ],
      },
    );
    expect(taken, 'a fuzz that is never taken tests nothing').toBeGreaterThan(200);
  });
});
