import { connect, type Socket } from 'node:net';

/** A connection whose every byte a test decides. */
export interface RawClient {
  readonly socket: Socket;
  /** Everything that was received so far. */
  text(): string;
  /** Resolves once the text received matches; fails when the connection ends before. */
  received(pattern: RegExp): Promise<string>;
  /** Resolves once so many whole answers were received; fails when the connection ends before. */
  answered(count: number): Promise<readonly RawAnswer[]>;
  /** Resolves with everything once the other side has closed. */
  ended(): Promise<string>;
}

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  /** Lines of the head behind the first, in their order. */
  readonly headers: readonly string[];
  readonly body: string;
}

/** The whole answers in what was received; each tells its length or has no body. */
export function answersOf(text: string): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = Buffer.from(text);
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0 || !rest.toString('latin1', 0, 9).startsWith('HTTP/1.1 ')) return answers;
    const [first = '', ...headers] = rest.toString('utf8', 0, end).split('\r\n');
    const length = Number(/^content-length: (\d+)$/im.exec(headers.join('\n'))?.[1] ?? 0);
    const bodyEnd = end + 4 + length;
    if (rest.byteLength < bodyEnd) return answers;
    const body = rest.toString('utf8', end + 4, bodyEnd);
    answers.push({ status: Number(first.slice(9, 12)), headers, body });
    rest = rest.subarray(bodyEnd);
  }
}

export async function rawClient(url: string): Promise<RawClient> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let text = '';
  let isClosed = false;
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const check of waiting) check();
  };
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
    wake();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
    wake();
  });
  await new Promise((resolve) => {
    socket.once('connect', () => resolve(undefined));
  });
  const when = (isTrue: () => boolean, what: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        if (isTrue()) resolve(text);
        else if (isClosed) reject(new Error(`closed before ${what}; received: ${text}`));
        else return;
        waiting.delete(check);
      };
      waiting.add(check);
      check();
    });
  return {
    socket,
    text: () => text,
    received: (pattern) => when(() => pattern.test(text), String(pattern)),
    answered: async (count) => {
      await when(() => answersOf(text).length >= count, `${count} answers`);
      return answersOf(text);
    },
    ended: () => when(() => isClosed, 'the end'),
  };
}

export function head(lines: readonly string[]): string {
  return `${lines.join('\r\n')}\r\n\r\n`;
}

export function postHead(bytes: number | undefined, ...more: readonly string[]): string {
  return head([
    'POST /v1/events HTTP/1.1',
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    ...(bytes === undefined ? [] : [`Content-Length: ${bytes}`]),
    ...more,
  ]);
}
