import { runLoad, runPeerLoad, startDaemon } from './children.ts';
import type { LoadResult } from './load.ts';
import { natsDefault, natsSynced } from './peers/nats.ts';
import type { Peer } from './peers/peer.ts';
import { postgresPeer } from './peers/postgres.ts';
import { redisPeer } from './peers/redis.ts';
import { interleave, median, rounded, type BenchOptions, type Question } from './question.ts';

const inFlight = 64;
const sessions = 64;
/** NDJSON-100 and pipelines of a hundred: so many requests on their way keep either side busy. */
const batchesInFlight = 8;

interface Shape {
  readonly lanes: number;
  readonly eventsPerRequest: number;
}

function times({ isSmoke }: BenchOptions): { durationMs: number; warmupMs: number } {
  return isSmoke ? { durationMs: 1000, warmupMs: 500 } : { durationMs: 4000, warmupMs: 4000 };
}

async function measureDaemon(
  options: BenchOptions,
  shape: Shape,
  run: string,
): Promise<LoadResult> {
  const daemon = await startDaemon();
  try {
    const { lanes: connections, eventsPerRequest } = shape;
    const order = { port: daemon.port, path: '/v1/events', sessions, run, ...times(options) };
    return await runLoad({ ...order, connections, eventsPerRequest });
  } finally {
    await daemon.dispose();
  }
}

async function measurePeer(
  peer: Peer,
  options: BenchOptions,
  shape: Shape,
  run: string,
): Promise<LoadResult> {
  const server = await peer.start();
  try {
    const order = { peer: peer.name, port: server.port, sessions, run };
    return await runPeerLoad({ ...order, ...shape, ...times(options) });
  } finally {
    await server.stop();
  }
}

async function compare(
  peer: Peer,
  options: BenchOptions,
  shape: Shape,
  name: string,
): Promise<Record<string, number>> {
  const { a, b } = await interleave(
    options.rounds,
    (round) => measureDaemon(options, shape, `${name}${round}`),
    (round) => measurePeer(peer, options, shape, `${name}${round}`),
  );
  const ratios = a.map((one, at) => one.eventsPerSecond / (b[at]?.eventsPerSecond ?? Number.NaN));
  return {
    [`${name}_events_per_second`]: Math.round(median(b.map((one) => one.eventsPerSecond))),
    [`millrace_beside_${name}_events_per_second`]: Math.round(
      median(a.map((one) => one.eventsPerSecond)),
    ),
    [`ratio_to_${name}`]: rounded(median(ratios)),
    [`p99_ratio_to_${name}`]: rounded(
      median(a.map(({ p99Ms }, at) => p99Ms / (b[at]?.p99Ms ?? 1))),
    ),
  };
}

/**
 * Servers that others would take for the same work, each through its own Node client and with the same events, beside millrace with all that it
 * does: validation, dedup, a receipt per record, the drain at work. Who is not on this machine is left out and named.
 */
export const peers: Question = {
  name: 'peers',
  asks: `acknowledged events per second ÷ those of PostgreSQL (${postgresPeer.setting}), Redis (${redisPeer.setting}) and NATS JetStream (${natsSynced.setting}, and its default, which acknowledges before the sync), ${inFlight} in flight, one event each; and NDJSON-100 ÷ a Redis pipeline of 100`,
  async run(options) {
    const figures: Record<string, number> = {};
    const single = { lanes: inFlight, eventsPerRequest: 1 };
    for (const peer of [postgresPeer, redisPeer, natsSynced, natsDefault]) {
      const missing = peer.missing();
      if (missing === undefined)
        Object.assign(figures, await compare(peer, options, single, peer.name));
      else process.stderr.write(`peers: ${peer.name} is left out: ${missing}\n`);
    }
    if (redisPeer.missing() === undefined) {
      const batches = { lanes: batchesInFlight, eventsPerRequest: 100 };
      Object.assign(figures, await compare(redisPeer, options, batches, 'redis_pipeline_100'));
    }
    return { figures };
  },
};
