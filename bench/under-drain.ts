import { readMetric, runLoad, startDaemon, type DaemonChild } from './children.ts';
import type { LoadResult } from './load.ts';
import {
  interleave,
  median,
  rounded,
  spread,
  type BenchAnswer,
  type BenchOptions,
  type Question,
} from './question.ts';

/** Eight connections are a load that leaves room: what they wait for more is the drain's. */
export const underDrain: Question = {
  name: 'under-drain',
  asks: 'latency of single events on 8 connections while the drain works through a backlog at full speed ÷ the same without a backlog',
  run,
};

interface Measured extends LoadResult {
  readonly drainedPerSecond: number;
  readonly pendingAfter: number;
}

async function run(options: BenchOptions): Promise<BenchAnswer> {
  const { a: busy, b: alone } = await interleave(
    options.rounds,
    (round) => measure(options, `busy${round}`, options.isSmoke ? 3_000 : 120_000),
    (round) => measure(options, `alone${round}`, 0),
  );
  const ratios = busy.map(({ p99Ms }, at) => p99Ms / (alone[at]?.p99Ms ?? 1));
  const mid = (of: readonly Measured[], figure: 'p50Ms' | 'p99Ms' | 'eventsPerSecond'): number =>
    rounded(median(of.map((one) => one[figure])));
  return {
    figures: {
      p50_ms_under_drain: mid(busy, 'p50Ms'),
      p50_ms_alone: mid(alone, 'p50Ms'),
      p99_ms_under_drain: mid(busy, 'p99Ms'),
      p99_ms_alone: mid(alone, 'p99Ms'),
      p99_ratio: rounded(median(ratios)),
      p99_ratio_spread: rounded(spread(ratios)),
      drained_per_second_meanwhile: Math.round(
        median(busy.map(({ drainedPerSecond }) => drainedPerSecond)),
      ),
    },
    gates: {
      'the drain had work all the time':
        options.isSmoke || busy.every(({ pendingAfter }) => pendingAfter > 0),
      'no request refused': [...busy, ...alone].every(({ failed }) => failed === 0),
    },
  };
}

async function measure(options: BenchOptions, run: string, backlog: number): Promise<Measured> {
  const daemon = await startDaemon();
  try {
    await warm(daemon, options, run);
    await fill(daemon, run, backlog);
    const before = await drainedBy(daemon);
    const durationMs = options.isSmoke ? 1000 : 5000;
    const order = { port: daemon.port, path: '/v1/events', sessions: 8, eventsPerRequest: 1, run };
    const load = await runLoad({ ...order, connections: 8, durationMs, warmupMs: 200 });
    const drained = (await drainedBy(daemon)) - before;
    const pendingAfter = await readMetric(daemon.port, 'millrace_queue_events');
    return { ...load, drainedPerSecond: drained / load.seconds, pendingAfter };
  } finally {
    await daemon.dispose();
  }
}

/** The same work before each measurement, so that the program is compiled. */
async function warm(daemon: DaemonChild, options: BenchOptions, run: string): Promise<void> {
  await runLoad({
    port: daemon.port,
    path: '/v1/events',
    connections: 8,
    sessions: 8,
    eventsPerRequest: 1,
    durationMs: options.isSmoke ? 500 : 4000,
    warmupMs: 0,
    run: `warm-${run}`,
  });
}

const linesPerRequest = 1000;

/** A backlog as fast as NDJSON brings it. */
async function fill(daemon: DaemonChild, run: string, events: number): Promise<void> {
  const text = 'The quick brown fox jumps over the lazy dog; '.repeat(14);
  for (let at = 0; at < events; at += linesPerRequest) {
    const lines = Array.from({ length: linesPerRequest }, (_, index) =>
      JSON.stringify({
        event: 'tool:post',
        workspace: 'bench',
        data: {
          session_id: `backlog-${run}-${(at + index) % 100}`,
          timestamp: new Date(Date.UTC(2026, 5, 1) + at + index).toISOString(),
          tool_name: 'read_file',
          tool_call_id: `call-${at + index}`,
          result: text,
        },
      }),
    );
    const answer = await fetch(`http://127.0.0.1:${daemon.port}/v1/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: lines.join('\n'),
    });
    if (answer.status !== 202) throw new Error(`the backlog was answered ${answer.status}`);
    await answer.arrayBuffer();
  }
}

function drainedBy(daemon: DaemonChild): Promise<number> {
  return readMetric(daemon.port, 'millrace_drain_events_total{result="applied"}');
}
