import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeBigRoot } from '../test/support/big-root.ts';
import { mainThreadUs, readMetric, runLoad, startBaseline, startDaemon } from './children.ts';
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

interface Shape {
  readonly sessions: number;
  readonly eventsPerRequest: number;
}

interface Measured {
  readonly load: LoadResult;
  readonly syncsPerEvent: number;
  /** CPU of the main thread alone, warm-up included: it depends on neighbours less than any rate. */
  readonly mainUsPerEvent: number;
}

/** On a throwaway root, or on one that is given and kept. */
async function measureDaemon(
  shape: Shape,
  options: BenchOptions,
  run: string,
  root?: string,
): Promise<Measured> {
  const daemon = await startDaemon(root === undefined ? {} : { root });
  try {
    const syncsBefore = await readMetric(daemon.port, 'millrace_journal_syncs_total');
    const cpuBefore = mainThreadUs(daemon.pid);
    const load = await runLoad({
      port: daemon.port,
      path: '/v1/events',
      connections: 64,
      run,
      ...times(options),
      ...shape,
    });
    const syncs = await readMetric(daemon.port, 'millrace_journal_syncs_total');
    const accepted = await readMetric(daemon.port, 'millrace_ingest_events_accepted_total');
    return {
      load,
      syncsPerEvent: accepted === 0 ? 1 : (syncs - syncsBefore) / accepted,
      mainUsPerEvent: (mainThreadUs(daemon.pid) - cpuBefore) / load.eventsWithWarmup,
    };
  } finally {
    if (root === undefined) await daemon.dispose();
    else await daemon.stop();
  }
}

async function measureBaseline(
  shape: Shape,
  options: BenchOptions,
  run: string,
): Promise<LoadResult & Pick<Measured, 'mainUsPerEvent'>> {
  const server = await startBaseline();
  try {
    const cpuBefore = mainThreadUs(server.pid);
    const load = await runLoad({
      port: server.port,
      path: '/v1/events',
      connections: 64,
      run,
      ...times(options),
      ...shape,
    });
    const used = mainThreadUs(server.pid) - cpuBefore;
    return { ...load, mainUsPerEvent: used / load.eventsWithWarmup };
  } finally {
    await server.stop();
  }
}

function times(options: BenchOptions): { readonly durationMs: number; readonly warmupMs: number } {
  return options.isSmoke
    ? { durationMs: 2000, warmupMs: 800 }
    : // The compiler is done after some 20,000 events; before that it takes half as much of the cores again.
      { durationMs: 4000, warmupMs: 4000 };
}

/** How many sessions a load goes to, and on which root. */
interface Case {
  /** Ends the names of its figures. */
  readonly name: string;
  readonly sessions: number;
  readonly root?: string;
}

const knownSessions = 100_000;

async function casesOf(folder: string, { isSmoke }: BenchOptions): Promise<readonly Case[]> {
  const few = { name: '10_sessions', sessions: 10 };
  if (isSmoke) return [few];
  const root = join(folder, 'known');
  await makeBigRoot(root, knownSessions);
  return [
    few,
    { name: '1000_sessions', sessions: 1000 },
    { name: '1000_of_100000_sessions', sessions: 1000, root },
  ];
}

interface CaseAnswer {
  readonly figures: Readonly<Record<string, number>>;
  readonly eventsPerSecond: number;
  readonly syncsPerEvent: number;
  readonly failed: number;
}

async function runCase({ name, sessions, root }: Case, options: BenchOptions): Promise<CaseAnswer> {
  const shape = { sessions, eventsPerRequest: 1 };
  // Events of one run are no duplicates of another's, even on a root that is kept.
  const tag = (round: number): string => `${name}-r${round}`;
  const { a, b } = await interleave(
    options.rounds,
    (round) => measureDaemon(shape, options, tag(round), root),
    (round) => measureBaseline(shape, options, tag(round)),
  );
  const eventsPerSecond = median(a.map(({ load }) => load.eventsPerSecond));
  const ratios = a.map(({ load }, at) => load.eventsPerSecond / (b[at]?.eventsPerSecond ?? 1));
  return {
    figures: {
      [`events_per_second_${name}`]: Math.round(eventsPerSecond),
      [`ratio_to_no_log_${name}`]: rounded(median(ratios)),
      [`ratio_spread_${name}`]: rounded(spread(ratios)),
      [`p50_ms_${name}`]: rounded(median(a.map(({ load }) => load.p50Ms))),
      [`main_thread_us_per_event_${name}`]: rounded(median(a.map((one) => one.mainUsPerEvent))),
      [`main_thread_us_per_event_no_log_${name}`]: rounded(
        median(b.map((one) => one.mainUsPerEvent)),
      ),
      [`p99_ms_${name}`]: rounded(median(a.map(({ load }) => load.p99Ms))),
      [`p99_ratio_to_no_log_${name}`]: rounded(
        median(a.map(({ load }, at) => load.p99Ms / (b[at]?.p99Ms ?? 1))),
      ),
    },
    eventsPerSecond,
    syncsPerEvent: median(a.map((one) => one.syncsPerEvent)),
    failed: a.reduce((sum, { load }) => sum + load.failed, 0),
  };
}

export const ingest: Question = {
  name: 'ingest',
  asks: 'acknowledged events per second ÷ the same server without a log, 64 connections, drain running',
  async run(options) {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-ingest-'));
    try {
      return await runCases(await casesOf(folder, options), options);
    } finally {
      // A hundred thousand folders take minutes on a busy disk, and nobody has to wait for that.
      spawn('rm', ['-rf', folder], { detached: true, stdio: 'ignore' }).unref();
    }
  },
};

async function runCases(cases: readonly Case[], options: BenchOptions): Promise<BenchAnswer> {
  const answers = [];
  for (const one of cases) answers.push(await runCase(one, options));
  const batch = [];
  for (let round = 0; round < options.rounds; round++)
    batch.push(await measureDaemon({ sessions: 10, eventsPerRequest: 100 }, options, `n${round}`));
  const batched = median(batch.map(({ load }) => load.eventsPerSecond));
  const syncsPerEvent = Math.max(...answers.map((answer) => answer.syncsPerEvent));
  return {
    figures: {
      ...Object.fromEntries(answers.flatMap(({ figures }) => Object.entries(figures))),
      ndjson_100_events_per_second: Math.round(batched),
      ndjson_100_to_single: rounded(batched / (answers[0]?.eventsPerSecond ?? 1)),
      syncs_per_event: Math.round(syncsPerEvent * 10_000) / 10_000,
    },
    gates: {
      'no request refused': answers.every(({ failed }) => failed === 0),
      // How many meet in a group hangs on who else uses the cores: a short run counts that in `counts`, whose load is of one size.
      ...(options.isSmoke ? {} : { 'syncs per event ≤ 0.05': syncsPerEvent <= 0.05 }),
    },
  };
}
