/**
 * The load for a peer, a process of its own as for millrace: so many lanes, each with one event, or one hundred, on its way. Reads its order as
 * JSON from argv, prints one JSON line.
 */
import { eventText, summarise, type LoadResult } from '../load.ts';
import { natsSender } from './nats.ts';
import type { Sender } from './peer.ts';
import { postgresSender } from './postgres.ts';
import { redisSender } from './redis.ts';

export interface PeerOrder {
  readonly peer: string;
  readonly port: number;
  readonly lanes: number;
  readonly sessions: number;
  readonly eventsPerRequest: number;
  readonly durationMs: number;
  readonly warmupMs: number;
  readonly run: string;
}

function open({ peer, port, lanes }: PeerOrder): Promise<Sender> {
  switch (peer) {
    case 'redis':
      return redisSender(port);
    case 'postgres':
      return postgresSender(port, lanes);
    case 'jetstream_always':
    case 'jetstream_default':
      return natsSender(port);
    default:
      throw new Error(`no peer is called ${peer}`);
  }
}

async function send(order: PeerOrder): Promise<LoadResult> {
  const sender = await open(order);
  const { eventsPerRequest, sessions } = order;
  const measureFrom = performance.now() + order.warmupMs;
  const endAt = measureFrom + order.durationMs;
  const latencies: number[] = [];
  let warmups = 0;
  let number = 0;
  const lane = async (at: number): Promise<void> => {
    while (performance.now() < endAt) {
      const session = `s${number % sessions}`;
      const events = Array.from({ length: eventsPerRequest }, () => eventText(order, number++));
      const began = performance.now();
      if (eventsPerRequest === 1) await sender.send(session, events[0] ?? '', at);
      else if (sender.sendMany === undefined) throw new Error(`${order.peer} has no batches`);
      else await sender.sendMany(session, events);
      const ended = performance.now();
      if (ended < measureFrom) warmups += 1;
      else latencies.push(ended - began);
    }
  };
  await Promise.all(Array.from({ length: order.lanes }, (_, at) => lane(at)));
  const seconds = (performance.now() - measureFrom) / 1000;
  await sender.close();
  return summarise({ latencies, seconds, eventsPerRequest, warmups, failed: 0 });
}

process.stdout.write(
  `${JSON.stringify(await send(JSON.parse(process.argv[2] ?? '') as PeerOrder))}\n`,
);
