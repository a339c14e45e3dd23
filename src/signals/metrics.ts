import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { RegistryMetric } from './otlp-metrics.ts';
import {
  applyRetried,
  batchCommitted,
  checkpointed,
  groupApplied,
  journalSynced,
  valuesRedacted,
  keyFinalised,
  logCompacted,
  retentionTaken,
  recordDead,
  recovered,
  requestFinished,
  streamMissed,
} from './channels.ts';

/** What only the stores know, read once per scrape. Counts of records, sizes in bytes, ages in milliseconds. */
export interface MetricsSnapshot {
  readonly pending: number;
  readonly backlogBytes: number;
  readonly oldestPendingAgeMs: number;
  readonly activeKeys: number;
  readonly dead: number;
  readonly quarantinedKeys: number;
  readonly residual: number;
  readonly isGraphUp: boolean;
  readonly diskFreeBytes: number;
  readonly diskReserveBytes: number;
  readonly tenureGeneration: number;
  readonly isTenureHeld: boolean;
  /** Reasons why the status is degraded. */
  readonly degradedReasons: number;
  /** Sessions that wait for a free worker. */
  readonly waitingKeys: number;
  /** Part of a core that the fold may take, 0 to 1. */
  readonly drainShare: number;
  /** Bytes of journal that session files do not hold yet. */
  readonly journalLagBytes: number;
  /** Dead letters that retention will discard soon. */
  readonly deadExpiring: number;
  readonly openJobs: number;
  readonly streamClients: number;
}

export interface RegistryScope {
  /** False: without the gauges that only the stores know. */
  readonly isSnapshotTaken: boolean;
}

export interface Metrics {
  readonly contentType: string;
  /** The text of `/metrics`. */
  metricsText(): Promise<string>;
  /** The same as values, for whoever sends them elsewhere. */
  registryMetrics(scope: RegistryScope): Promise<readonly RegistryMetric[]>;
  /** Ends the subscriptions. */
  stop(): void;
}

export interface MetricsOptions {
  readonly version: string;
  readonly snapshot: () => Promise<MetricsSnapshot>;
}

type Kind = 'counter' | 'gauge' | 'histogram';

/** Every series (facts/conventions.md §5): kind, label, help. Labels come from small closed sets; no session or key is ever one. */
const series = {
  millrace_ingest_requests_total: ['counter', 'code', 'Requests that carried events, by status.'],
  millrace_ingest_events_accepted_total: ['counter', '', 'Events made durable.'],
  millrace_ingest_events_duplicate_total: ['counter', '', 'Events whose id was known.'],
  millrace_ingest_events_rejected_total: ['counter', 'reason', 'Events refused, by error code.'],
  millrace_quota_refusals_total: ['counter', 'reason', 'Requests refused at a limit.'],
  millrace_ingest_redactions_total: [
    'counter',
    'rule',
    'Values taken out of events before they were stored, by kind of rule.',
  ],
  millrace_retention_taken_total: [
    'counter',
    'part',
    'Things that went by age or size: sessions (graph), objects, archives, letters.',
  ],
  millrace_retention_taken_bytes_total: ['counter', 'part', 'Bytes of them, about.'],
  millrace_ingest_append_seconds: ['histogram', '', 'Time from body to answer.'],
  millrace_journal_sync_seconds: ['histogram', '', 'Time of one write and sync of the journal.'],
  millrace_journal_syncs_total: ['counter', '', 'Syncs of the journal.'],
  millrace_queue_events: ['gauge', '', 'Records that wait for the drain.'],
  millrace_queue_bytes: ['gauge', '', 'Bytes that wait for the drain.'],
  millrace_queue_oldest_age_seconds: ['gauge', '', 'Age of the oldest waiting record.'],
  millrace_queue_sessions: ['gauge', '', 'Sessions with waiting records.'],
  millrace_drain_waiting_sessions: ['gauge', '', 'Sessions that wait for a free worker.'],
  millrace_drain_share: [
    'gauge',
    '',
    'Part of a core that the drain may take; below 1 while clients go first.',
  ],
  millrace_journal_lag_bytes: ['gauge', '', 'Bytes of journal that session files do not hold yet.'],
  millrace_checkpoint_seconds: ['histogram', '', 'Time of one checkpoint.'],
  millrace_queue_finalised_total: ['counter', '', 'Sessions whose log was removed at their end.'],
  millrace_queue_compacted_bytes_total: ['counter', '', 'Bytes that compaction removed from logs.'],
  millrace_drain_events_total: ['counter', 'result', 'Records applied or dead-lettered.'],
  millrace_drain_retries_total: ['counter', 'class', 'Attempts that failed and are repeated.'],
  millrace_drain_commit_seconds: ['histogram', '', 'Time of one commit.'],
  millrace_ingest_to_graph_lag_seconds: ['histogram', '', 'From acceptance to commit.'],
  millrace_graph_up: ['gauge', '', '1 while the graph store answers.'],
  millrace_graph_apply_seconds: ['histogram', '', 'Time of one graph transaction.'],
  millrace_graph_auth_failures_total: [
    'counter',
    '',
    'Calls that the graph store refused for its credentials.',
  ],
  millrace_dead_letters_total: [
    'counter',
    'stage',
    'Records that became dead letters, by what refused them.',
  ],
  millrace_dead_letters_expiring: [
    'gauge',
    '',
    'Dead letters that retention will discard within a day.',
  ],
  millrace_dead_letters: ['gauge', '', 'Dead letters without an outcome.'],
  millrace_quarantine_units: ['gauge', '', 'Sessions in quarantine.'],
  millrace_conservation_residual_events: [
    'gauge',
    '',
    'accepted - applied - pending - dead - discarded.',
  ],
  millrace_disk_free_bytes: ['gauge', '', 'Free bytes of the root.'],
  millrace_disk_reserve_bytes: ['gauge', '', 'Bytes that appends leave free.'],
  millrace_tenure_generation: ['gauge', '', 'Generation of the running tenure.'],
  millrace_tenure_held: ['gauge', '', '1 while the daemon may write.'],
  millrace_degraded_reasons: [
    'gauge',
    '',
    'Reasons why the status is degraded; 0 when all is well.',
  ],
  millrace_jobs_open: ['gauge', '', 'Jobs over dead letters that have not ended.'],
  millrace_stream_clients: ['gauge', '', 'Watchers of the live view.'],
  millrace_stream_missed_total: ['counter', '', 'Messages that slow watchers did not get.'],
  millrace_resident_memory_bytes: ['gauge', '', 'Resident memory of the process.'],
  millrace_event_loop_lag_seconds: ['gauge', '', '99th percentile since the last scrape.'],
  millrace_recovery_seconds: ['gauge', '', 'Time of the recovery at the last start.'],
  millrace_build_info: ['gauge', 'version', '1, with the version as label.'],
} as const satisfies Record<string, readonly [Kind, string, string]>;

type SeriesName = keyof typeof series;

/** The documentation test compares them with docs/metrics.md. */
export const metricNames: readonly string[] = Object.keys(series);

/** From half a millisecond, an append on a fast disk, to half a minute, the longest back-off. */
const bucketsSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

/** Reasons that a fold gives; any other is the store's. */
const foldCodes: ReadonlySet<string> = new Set(['EVENT_CONTRADICTS', 'HANDLER_FAILED']);

const quotaCodes: ReadonlySet<string> = new Set([
  'BACKLOG_FULL',
  'QUEUE_FULL',
  'SESSION_QUARANTINED',
]);

export function startMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry();
  const board = makeBoard(registry);
  board.set('millrace_build_info', 1, options.version);
  const lag = monitorEventLoopDelay({ resolution: 20 });
  lag.enable();
  const ends = [...observeIngest(board), ...observeDrain(board)];
  return {
    contentType: registry.contentType,
    async metricsText() {
      showSnapshot(board, await options.snapshot());
      showProcess(board, lag);
      board.flush();
      return registry.metrics();
    },
    async registryMetrics({ isSnapshotTaken }) {
      if (isSnapshotTaken) showSnapshot(board, await options.snapshot());
      showProcess(board, lag);
      board.flush();
      return (await registry.getMetricsAsJSON()) as unknown as readonly RegistryMetric[];
    },
    stop() {
      lag.disable();
      for (const end of ends) end();
    },
  };
}

function showProcess(board: Board, lag: ReturnType<typeof monitorEventLoopDelay>): void {
  board.set(
    'millrace_event_loop_lag_seconds',
    Number.isNaN(lag.mean) ? 0 : lag.percentile(99) / 1e9,
  );
  lag.reset();
  board.set('millrace_resident_memory_bytes', process.memoryUsage.rss());
}

/** The series by name, so that an observer names what it counts and nothing else. */
interface Board {
  /** Carries what was counted into the registry; before each scrape. */
  flush(): void;
  add(name: SeriesName, count: number, label?: string): void;
  set(name: SeriesName, value: number, label?: string): void;
  observeMs(name: SeriesName, ms: number): void;
}

function makeBoard(registry: Registry): Board {
  const made = new Map<string, Counter | Gauge | Histogram>();
  for (const [name, [kind, label, help]] of Object.entries(series)) {
    const common = { name, help, labelNames: label === '' ? [] : [label], registers: [registry] };
    if (kind === 'counter') made.set(name, new Counter(common));
    else if (kind === 'gauge') made.set(name, new Gauge(common));
    else made.set(name, new Histogram({ ...common, buckets: bucketsSeconds }));
  }
  const labelsOf = (name: SeriesName, label: string | undefined): Record<string, string> =>
    label === undefined ? {} : { [series[name][1]]: label };
  // The registry takes 1 µs for each count with a label, to find the label again: too much for every event.
  const counted = new Map<SeriesName, Map<string | undefined, number>>();
  return {
    add(name, count, label) {
      if (count <= 0) return;
      let counts = counted.get(name);
      if (counts === undefined) counted.set(name, (counts = new Map()));
      counts.set(label, (counts.get(label) ?? 0) + count);
    },
    flush() {
      for (const [name, counts] of counted)
        for (const [label, count] of counts)
          (made.get(name) as Counter).inc(labelsOf(name, label), count);
      counted.clear();
    },
    set: (name, value, label) => (made.get(name) as Gauge).set(labelsOf(name, label), value),
    observeMs: (name, ms) => (made.get(name) as Histogram).observe(ms / 1000),
  };
}

function observeIngest(board: Board): (() => void)[] {
  return [
    requestFinished.subscribe((message) => {
      board.add('millrace_ingest_requests_total', 1, String(message.status));
      board.add('millrace_ingest_events_accepted_total', message.accepted);
      board.add('millrace_ingest_events_duplicate_total', message.duplicates);
      board.observeMs('millrace_ingest_append_seconds', message.durationMs);
      for (const [code, count] of Object.entries(message.rejected)) {
        const isQuota = quotaCodes.has(code);
        if (isQuota) board.add('millrace_quota_refusals_total', 1, code);
        else board.add('millrace_ingest_events_rejected_total', count, code);
      }
    }),
    valuesRedacted.subscribe(({ counts }) => {
      for (const [rule, count] of Object.entries(counts))
        board.add('millrace_ingest_redactions_total', count, rule);
    }),
    journalSynced.subscribe(({ durationMs }) => {
      board.add('millrace_journal_syncs_total', 1);
      board.observeMs('millrace_journal_sync_seconds', durationMs);
    }),
    keyFinalised.subscribe(() => board.add('millrace_queue_finalised_total', 1)),
    logCompacted.subscribe(({ bytes }) => board.add('millrace_queue_compacted_bytes_total', bytes)),
    retentionTaken.subscribe(({ part, count, bytes }) => {
      board.add('millrace_retention_taken_total', count, part);
      board.add('millrace_retention_taken_bytes_total', bytes, part);
    }),
    recovered.subscribe(({ durationMs }) =>
      board.set('millrace_recovery_seconds', durationMs / 1000),
    ),
  ];
}

function observeDrain(board: Board): (() => void)[] {
  return [
    batchCommitted.subscribe((message) => {
      board.add('millrace_drain_events_total', message.records, 'applied');
      board.observeMs('millrace_drain_commit_seconds', message.durationMs);
      board.observeMs('millrace_ingest_to_graph_lag_seconds', message.lagMs);
    }),
    recordDead.subscribe(({ code }) => {
      board.add('millrace_drain_events_total', 1, 'dead');
      board.add('millrace_dead_letters_total', 1, foldCodes.has(code) ? 'fold' : 'store');
    }),
    applyRetried.subscribe((message) => {
      board.add('millrace_drain_retries_total', 1, message.class);
      if (message.code === 'GRAPH_DENIED') board.add('millrace_graph_auth_failures_total', 1);
    }),
    checkpointed.subscribe(({ durationMs }) =>
      board.observeMs('millrace_checkpoint_seconds', durationMs),
    ),
    streamMissed.subscribe(({ count }) => board.add('millrace_stream_missed_total', count)),
    groupApplied.subscribe(({ durationMs }) =>
      board.observeMs('millrace_graph_apply_seconds', durationMs),
    ),
  ];
}

function showSnapshot(board: Board, now: MetricsSnapshot): void {
  board.set('millrace_queue_events', now.pending);
  board.set('millrace_queue_bytes', now.backlogBytes);
  board.set('millrace_queue_oldest_age_seconds', now.oldestPendingAgeMs / 1000);
  board.set('millrace_queue_sessions', now.activeKeys);
  board.set('millrace_dead_letters', now.dead);
  board.set('millrace_quarantine_units', now.quarantinedKeys);
  board.set('millrace_conservation_residual_events', now.residual);
  board.set('millrace_graph_up', now.isGraphUp ? 1 : 0);
  board.set('millrace_disk_free_bytes', now.diskFreeBytes);
  board.set('millrace_disk_reserve_bytes', now.diskReserveBytes);
  board.set('millrace_tenure_generation', now.tenureGeneration);
  board.set('millrace_tenure_held', now.isTenureHeld ? 1 : 0);
  board.set('millrace_degraded_reasons', now.degradedReasons);
  board.set('millrace_drain_waiting_sessions', now.waitingKeys);
  board.set('millrace_drain_share', now.drainShare);
  board.set('millrace_journal_lag_bytes', now.journalLagBytes);
  board.set('millrace_dead_letters_expiring', now.deadExpiring);
  board.set('millrace_jobs_open', now.openJobs);
  board.set('millrace_stream_clients', now.streamClients);
}
