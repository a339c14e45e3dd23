import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import type { AskedHead } from '../../../src/http/doors/asked-events.ts';
import { AnswerHeads } from '../../../src/http/fast-path/answer-heads.ts';
import { FastConnection } from '../../../src/http/fast-path/fast-connection.ts';
import { turn } from '../../support/turn.ts';
import { postHead } from '../raw-client.ts';

interface Bench {
  readonly wire: Duplex;
  readonly asked: AskedHead[];
  readonly written: string[];
  /** Lets the write in progress be done. */
  takeWrite(): void;
}

/** A connection over a wire that takes one write at a time, when it is told to. */
function bench(): Bench {
  const written: string[] = [];
  const asked: AskedHead[] = [];
  let done: () => void = () => undefined;
  const wire = new Duplex({
    writableHighWaterMark: 1,
    decodeStrings: false,
    read: () => undefined,
    write(chunk: string | Buffer, _encoding, callback) {
      written.push(String(chunk));
      done = callback;
    },
  });
  const server = {
    heads: new AnswerHeads({ ...systemClock, now: () => 1_800_000_000_999 }, 75_000),
    isClosing: () => false,
    nextId: () => 'id',
    serve: (head: AskedHead) => asked.push(head),
    takeOver: () => undefined,
    forget: () => undefined,
  };
  expect(new FastConnection(wire as Socket, server, 0).headersSent).toBe(true);
  return { wire, asked, written, takeWrite: () => done() };
}

const request = `${postHead(2)}{}`;

describe('a connection whose client does not read', () => {
  it('is not read either until its answers are taken (P9)', async () => {
    const { wire, asked, takeWrite } = bench();
    wire.push(request);
    await turn();
    asked[0]?.response.writeHead(202, {}).end('{}');
    wire.push(request);
    await turn();
    expect(asked).toHaveLength(1);
    takeWrite();
    await turn();
    expect(asked).toHaveLength(2);
  });

  it('writes text and bytes behind the same head', async () => {
    const { wire, asked, written, takeWrite } = bench();
    for (const body of ['é', Buffer.from('é')]) {
      wire.push(request);
      await turn();
      asked.at(-1)?.response.writeHead(202, { 'content-length': 2 }).end(body);
      takeWrite();
      await turn();
    }
    const text =
      'HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\nDate: Fri, 15 Jan 2027 08:00:00 GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=75\r\n\r\né';
    expect(written).toEqual([text, text]);
  });

  it('answers once, whoever tries twice', async () => {
    const { wire, asked, written } = bench();
    wire.push(request);
    await turn();
    const { response } = asked[0] as AskedHead;
    expect(response.headersSent).toBe(false);
    response.writeHead(202, {}).end('{}');
    expect(response.headersSent).toBe(true);
    response.writeHead(500, {}).end('{}');
    expect(written).toHaveLength(1);
  });
});
