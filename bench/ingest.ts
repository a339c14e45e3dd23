import { mainThreadUs, readMetric, runLoad, startBaseline, startDaemon } from './children.ts';
import type { LoadResult } from './load.ts';
import {
  interleave,
  median,
  rounded,
  spread,
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

async function measureDaemon(shape: Shape, options: BenchOptions, run: string): Promise<Measured> {
  const daemon = await startDaemon();
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
    await daemon.dispose();
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

export const ingest: Question = {
  name: 'ingest',
  asks: 'acknowledged events per second ÷ the same server without a log, 64 connections, drain running',
  async run(options) {
    const figures: Record<string, number> = {};
    let syncsPerEvent = 0;
    let singleRate = 0;
    let failed = 0;
    for (const sessions of options.isSmoke ? [10] : [10, 1000]) {
      const shape = { sessions, eventsPerRequest: 1 };
      const { a, b } = await interleave(
        options.rounds,
        (round) => measureDaemon(shape, options, `s${sessions}r${round}`),
        (round) => measureBaseline(shape, options, `s${sessions}r${round}`),
      );
      const ours = median(a.map(({ load }) => load.eventsPerSecond));
      const ratios = a.map(({ load }, at) => load.eventsPerSecond / (b[at]?.eventsPerSecond ?? 1));
      figures[`events_per_second_${sessions}_sessions`] = Math.round(ours);
      figures[`ratio_to_no_log_${sessions}_sessions`] = rounded(median(ratios));
      figures[`ratio_spread_${sessions}_sessions`] = rounded(spread(ratios));
      figures[`p50_ms_${sessions}_sessions`] = rounded(median(a.map(({ load }) => load.p50Ms)));
      figures[`main_thread_us_per_event_${sessions}_sessions`] = rounded(
        median(a.map((one) => one.mainUsPerEvent)),
      );
      figures[`main_thread_us_per_event_no_log_${sessions}_sessions`] = rounded(
        median(b.map((one) => one.mainUsPerEvent)),
      );
      figures[`p99_ms_${sessions}_sessions`] = rounded(median(a.map(({ load }) => load.p99Ms)));
      figures[`p99_ratio_to_no_log_${sessions}_sessions`] = rounded(
        median(a.map(({ load }, at) => load.p99Ms / (b[at]?.p99Ms ?? 1))),
      );
      syncsPerEvent = Math.max(syncsPerEvent, median(a.map((one) => one.syncsPerEvent)));
      failed += a.reduce((sum, { load }) => sum + load.failed, 0);
      if (sessions === 10) singleRate = ours;
    }
    const batch = [];
    for (let round = 0; round < options.rounds; round++)
      batch.push(
        await measureDaemon({ sessions: 10, eventsPerRequest: 100 }, options, `n${round}`),
      );
    figures['ndjson_100_events_per_second'] = Math.round(
      median(batch.map(({ load }) => load.eventsPerSecond)),
    );
    figures['ndjson_100_to_single'] = rounded(
      (figures['ndjson_100_events_per_second'] ?? 0) / singleRate,
    );
    figures['syncs_per_event'] = Math.round(syncsPerEvent * 10_000) / 10_000;
    return {
      figures,
      gates: {
        'no request refused': failed === 0,
        // How many meet in a group hangs on who else uses the cores: a short run counts that in `counts`, whose load is of one size.
        ...(options.isSmoke ? {} : { 'syncs per event ≤ 0.05': syncsPerEvent <= 0.05 }),
      },
    };
  },
};
