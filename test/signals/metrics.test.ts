import { afterEach, describe, expect, it } from 'vitest';
import {
  applyRetried,
  batchCommitted,
  journalSynced,
  metricNames,
  recordDead,
  requestFinished,
  startMetrics,
  type Metrics,
  type MetricsSnapshot,
} from '#signals';

const quiet: MetricsSnapshot = {
  pending: 0,
  backlogBytes: 0,
  oldestPendingAgeMs: 0,
  activeKeys: 0,
  dead: 0,
  quarantinedKeys: 0,
  residual: 0,
  isGraphUp: true,
  diskFreeBytes: 1000,
  diskReserveBytes: 100,
  tenureGeneration: 3,
  isTenureHeld: true,
  degradedReasons: 0,
  waitingKeys: 0,
  drainShare: 1,
  journalLagBytes: 0,
  deadExpiring: 0,
  openJobs: 0,
  streamClients: 0,
};

let metrics: Metrics | undefined;
afterEach(() => metrics?.stop());

async function valueOf(name: string): Promise<number | undefined> {
  const text = (await metrics?.metricsText()) ?? '';
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

function start(snapshot: MetricsSnapshot = quiet): void {
  metrics = startMetrics({ version: '9.9.9', snapshot: () => Promise.resolve(snapshot) });
}

describe('metrics', () => {
  it('has a fixed set of series, all there from the start, named by unit', async () => {
    start();
    const text = (await metrics?.metricsText()) ?? '';
    const names = [...text.matchAll(/^# TYPE (\w+) (\w+)/gm)].map((match) => match[1] ?? '');
    expect(names.toSorted()).toEqual([...metricNames].toSorted());
    for (const [, name, kind] of text.matchAll(/^# TYPE (\w+) (\w+)/gm))
      expect(name?.endsWith('_total'), name).toBe(kind === 'counter');
  });

  it('counts what the channels tell', async () => {
    start();
    requestFinished.publish(() => ({
      route: '/v1/events',
      status: 207,
      accepted: 3,
      duplicates: 2,
      rejected: { EVENT_INVALID: 4, BACKLOG_FULL: 5 },
      bodyBytes: 10,
      durationMs: 2,
    }));
    journalSynced.publish(() => ({ frames: 1, records: 3, bytes: 10, durationMs: 1 }));
    const position = 'p';
    batchCommitted.publish(() => ({ key: 'k', records: 3, position, durationMs: 1, lagMs: 40 }));
    recordDead.publish(() => ({ key: 'k', position, code: 'EVENT_CONTRADICTS', message: 'no' }));
    applyRetried.publish(() => ({
      class: 'retry',
      code: 'C',
      message: '',
      attempt: 1,
      delayMs: 1,
    }));
    expect(await valueOf('millrace_ingest_requests_total{code="207"}')).toBe(1);
    expect(await valueOf('millrace_ingest_events_accepted_total')).toBe(3);
    expect(await valueOf('millrace_ingest_events_duplicate_total')).toBe(2);
    expect(await valueOf('millrace_ingest_events_rejected_total{reason="EVENT_INVALID"}')).toBe(4);
    expect(await valueOf('millrace_quota_refusals_total{reason="BACKLOG_FULL"}')).toBe(1);
    expect(await valueOf('millrace_journal_syncs_total')).toBe(1);
    expect(await valueOf('millrace_drain_events_total{result="applied"}')).toBe(3);
    expect(await valueOf('millrace_drain_events_total{result="dead"}')).toBe(1);
    expect(await valueOf('millrace_ingest_to_graph_lag_seconds_sum')).toBe(0.04);
  });

  it('reads gauges at the scrape, in base units', async () => {
    start({ ...quiet, pending: 7, oldestPendingAgeMs: 2500, residual: 1, isTenureHeld: false });
    expect(await valueOf('millrace_queue_events')).toBe(7);
    expect(await valueOf('millrace_queue_oldest_age_seconds')).toBe(2.5);
    expect(await valueOf('millrace_conservation_residual_events')).toBe(1);
    expect(await valueOf('millrace_tenure_held')).toBe(0);
    expect(await valueOf('millrace_tenure_generation')).toBe(3);
    expect(await valueOf('millrace_build_info{version="9.9.9"}')).toBe(1);
  });

  it('never has a session, a key or a payload in a label', async () => {
    start();
    batchCommitted.publish(() => ({
      key: 'canary-key',
      records: 1,
      position: 'p',
      durationMs: 1,
      lagMs: 1,
    }));
    recordDead.publish(() => ({ key: 'canary-key', position: 'p', code: 'C', message: 'canary' }));
    expect(await metrics?.metricsText()).not.toContain('canary');
  });
});
