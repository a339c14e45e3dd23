/**
 * The load generator, a process of its own: keep-alive connections that each have one request in flight, over bare sockets so that the client
 * costs as little of the second core as it can. Reads its order as JSON from argv, prints one JSON line.
 */
import { connect, type Socket } from 'node:net';

export interface LoadOrder {
  readonly port: number;
  readonly path: string;
  readonly connections: number;
  readonly sessions: number;
  /** Events of one request: 1 posts a single JSON event, more post NDJSON. */
  readonly eventsPerRequest: number;
  readonly durationMs: number;
  readonly warmupMs: number;
  /** Makes ids and session names of different runs differ. */
  readonly run: string;
}

export interface LoadResult {
  readonly requests: number;
  readonly events: number;
  /** All that were answered well, those of the warm-up too. */
  readonly eventsWithWarmup: number;
  readonly failed: number;
  readonly seconds: number;
  readonly eventsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const filler = 'The quick brown fox jumps over the lazy dog; '.repeat(14);

/** Some 900 bytes, as an agent's tool call. */
export function eventText(order: Pick<LoadOrder, 'run' | 'sessions'>, number: number): string {
  const session = `bench-${order.run}-${number % order.sessions}`;
  const time = new Date(1_780_000_000_000 + number).toISOString();
  return `{"event":"tool:post","workspace":"bench","event_id":"${order.run}-${number}","data":{"session_id":"${session}","timestamp":"${time}","tool_name":"read_file","tool_call_id":"call_${number}","tool_input":{"file_path":"/src/part-${number % 50}.ts"},"result":{"success":true,"output":"${filler}"}}}`;
}

class Connection {
  readonly #socket: Socket;
  readonly #next: () => Buffer | undefined;
  readonly #done: (status: number, ms: number) => void;
  readonly finished: Promise<void>;
  #began = 0;
  #pending: Buffer = Buffer.alloc(0);
  #finish: () => void = () => undefined;

  constructor(
    port: number,
    next: () => Buffer | undefined,
    done: (status: number, ms: number) => void,
  ) {
    this.#next = next;
    this.#done = done;
    this.finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('connect', () => this.#send());
    this.#socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    this.#socket.on('error', () => this.#finish());
    this.#socket.on('close', () => this.#finish());
  }

  #send(): void {
    const request = this.#next();
    if (request === undefined) {
      this.#socket.end();
      return;
    }
    this.#began = performance.now();
    this.#socket.write(request);
  }

  #receive(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const headEnd = this.#pending.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const head = this.#pending.toString('latin1', 0, headEnd);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#pending.length < headEnd + 4 + length) return;
    this.#pending = Buffer.alloc(0);
    this.#done(Number(head.slice(9, 12)), performance.now() - this.#began);
    this.#send();
  }
}

function requestMaker(order: LoadOrder): () => Buffer {
  let number = 0;
  const type = order.eventsPerRequest === 1 ? 'application/json' : 'application/x-ndjson';
  return () => {
    let body = eventText(order, number++);
    for (let at = 1; at < order.eventsPerRequest; at++) body += `\n${eventText(order, number++)}`;
    const head = `POST ${order.path} HTTP/1.1\r\nhost: 127.0.0.1:${order.port}\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
    return Buffer.from(head + body);
  };
}

function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

export async function load(order: LoadOrder): Promise<LoadResult> {
  const make = requestMaker(order);
  const began = performance.now();
  const measureFrom = began + order.warmupMs;
  const endAt = measureFrom + order.durationMs;
  const latencies: number[] = [];
  let failed = 0;
  let warmups = 0;
  const connections = Array.from(
    { length: order.connections },
    () =>
      new Connection(
        order.port,
        () => (performance.now() < endAt ? make() : undefined),
        (status, ms) => {
          if (performance.now() < measureFrom) {
            warmups += 1;
            return;
          }
          if (status === 202 || status === 200) latencies.push(ms);
          else failed++;
        },
      ),
  );
  await Promise.all(connections.map((connection) => connection.finished));
  const seconds = (performance.now() - measureFrom) / 1000;
  return summarise({
    latencies,
    seconds,
    eventsPerRequest: order.eventsPerRequest,
    warmups,
    failed,
  });
}

/** Latencies are of requests, in ms; they are sorted in place. */
export function summarise(counted: {
  readonly latencies: number[];
  readonly seconds: number;
  readonly eventsPerRequest: number;
  readonly warmups: number;
  readonly failed: number;
}): LoadResult {
  const { latencies, seconds, eventsPerRequest, warmups, failed } = counted;
  latencies.sort((a, b) => a - b);
  const events = latencies.length * eventsPerRequest;
  return {
    requests: latencies.length,
    events,
    eventsWithWarmup: events + warmups * eventsPerRequest,
    failed,
    seconds,
    eventsPerSecond: events / seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  };
}

if (process.argv[2] === 'run') {
  const order = JSON.parse(process.argv[3] ?? '') as LoadOrder;
  process.stdout.write(`${JSON.stringify(await load(order))}\n`);
}
