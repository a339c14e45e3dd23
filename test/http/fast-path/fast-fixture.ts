import type { Socket } from 'node:net';
import { until } from '../../support/turn.ts';
import { httpBench, type HttpBench, type HttpBenchOptions } from '../http-fixture.ts';
import { answersOf, rawClient, type RawAnswer, type RawClient } from '../raw-client.ts';

/** A listening server that tells which requests went through Node's own HTTP. */
export interface Listening extends HttpBench {
  readonly url: string;
  /** Requests that Node's parser has read. */
  readonly byNode: { count: number };
  connect(): Promise<Wire>;
}

/** A connection, and its other end. */
export interface Wire extends RawClient {
  readonly far: Socket;
  /** Sends parts so that each is a chunk of its own for the server. */
  send(...parts: readonly (string | Buffer)[]): Promise<void>;
}

export async function listening(options: HttpBenchOptions = {}): Promise<Listening> {
  const bench = await httpBench(options);
  const { url } = await bench.server.listen({ host: '127.0.0.1', port: 0 });
  const byNode = { count: 0 };
  const sockets: Socket[] = [];
  const { server } = bench.server.app;
  server.prependListener('request', () => {
    byNode.count += 1;
  });
  server.on('connection', (socket: Socket) => sockets.push(socket));
  return {
    ...bench,
    url,
    byNode,
    async connect() {
      const known = sockets.length;
      const client = await rawClient(url);
      await until('the server has the connection', () => sockets.length > known);
      const far = sockets[known] as Socket;
      return { ...client, far, send: (...parts) => send(client, far, parts) };
    },
  };
}

async function send(
  client: RawClient,
  far: Socket,
  parts: readonly (string | Buffer)[],
): Promise<void> {
  for (const part of parts) {
    const before = far.bytesRead;
    client.socket.write(part);
    const bytes = Buffer.byteLength(part);
    await until('the part is read', () => far.destroyed || far.bytesRead - before >= bytes);
  }
}

/** What may differ between two answers to the same: the time, the id of the request, and the session's epoch. */
export function comparable({ status, headers, body }: RawAnswer): RawAnswer {
  return {
    status,
    headers: headers.map((line) => line.replace(/^Date: .*/, 'Date: …')),
    body: withoutEpochs(body).replace(/"request_id":"[^"]*"/, '"request_id":"…"'),
  };
}

export function withoutEpochs(text: string): string {
  return text.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '…');
}

/** Sends the parts on a connection of its own, waits for the answers, and tells all there is to tell of it. */
export async function played(
  bench: Listening,
  parts: readonly (string | Buffer)[],
  count: number,
  next: string,
): Promise<{ readonly answers: readonly RawAnswer[]; readonly end: 'closed' | RawAnswer }> {
  const wire = await bench.connect();
  await wire.send(...parts);
  const isClosing = count === 0 || /^connection: close$/im.test(await headsOf(wire, count));
  if (isClosing) {
    const answers = answersOf(await wire.ended());
    return { answers: answers.map(comparable), end: 'closed' };
  }
  wire.socket.write(next);
  const all = (await wire.answered(count + 1)).map(comparable);
  wire.socket.destroy();
  return { answers: all.slice(0, count), end: all[count] as RawAnswer };
}

async function headsOf(wire: Wire, count: number): Promise<string> {
  const answers = await wire.answered(count);
  return answers.flatMap(({ headers }) => headers).join('\n');
}
