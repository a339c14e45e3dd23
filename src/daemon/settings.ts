import type { Config } from '#config';
import type { DrainSettings } from '#drain';
import type { IngestLimits } from '#ingest';

/** Share and cap of the disk that appends leave free where nothing is set (QFS-30). */
const reserveShare = 0.05;
const reserveBytesMax = 256 * 2 ** 20;

/** `queue.reserve_bytes`, or 256 MiB or 5 % of the disk, the smaller. Pure, as everything here. */
export function reserveBytes(config: Config, diskTotalBytes: number): number {
  const byDefault = Math.min(reserveBytesMax, Math.floor(diskTotalBytes * reserveShare));
  return config['queue.reserve_bytes'] ?? byDefault;
}

/** Sizes in bytes; the shape that the queue's plug takes. */
export interface QueueSettings {
  readonly segmentBytes: number;
  readonly maxBytes: number;
  readonly maxBytesPerKey: number;
  readonly reserveBytes: number;
  readonly maxEventBytes: number;
  readonly cursorBytesMax: number;
  readonly quarantineBacklogBytes: number;
}

export function queueSettings(config: Config, diskTotalBytes: number): QueueSettings {
  return {
    segmentBytes: config['queue.segment_bytes'],
    maxBytes: config['queue.max_bytes'],
    maxBytesPerKey: config['queue.max_bytes_per_key'],
    reserveBytes: reserveBytes(config, diskTotalBytes),
    maxEventBytes: config['ingest.max_event_bytes'],
    cursorBytesMax: config['cursor.max_bytes'],
    quarantineBacklogBytes: config['quarantine.max_backlog_bytes'],
  };
}

/** Bodies of all requests in memory at once: four of the largest, so that one client cannot take it all. */
const bodiesInFlightMax = 4;
/** Longer than any sync, shorter than the time-outs of known clients (10 s). */
const idWaitMs = 5000;

export function ingestLimits(config: Config): IngestLimits {
  return {
    eventBytesMax: config['ingest.max_event_bytes'],
    batchRecordsMax: config['ingest.max_batch_records'],
    batchBytesMax: config['ingest.max_batch_bytes'],
    queueBytesMax: config['queue.max_bytes'],
    inFlightBytesMax: bodiesInFlightMax * config['ingest.max_batch_bytes'],
    idWaitMs,
  };
}

export function drainSettings(config: Config): Partial<DrainSettings> {
  return {
    batchRecordsMax: config['drain.max_batch_records'],
    batchBytesMax: config['drain.max_batch_bytes'],
    groupRecordsMax: config['drain.group_max_records'],
    groupBytesMax: config['graph.max_tx_bytes'],
    writeConcurrency: config['drain.write_concurrency'],
    deliveryAttemptsMax: config['drain.max_delivery_attempts'],
    pollMs: config['drain.poll_ms'],
    idleExitMs: config['drain.idle_exit_ms'],
    backoff: {
      baseMs: config['supervisor.backoff_ms'],
      maxMs: config['supervisor.backoff_max_ms'],
    },
    degradedAfter: config['supervisor.degraded_after'],
    respawnLimit: config['boot.respawn_limit'],
  };
}

/** Settings that `GET /v1/limits` publishes (ING-121). */
const published = [
  'ingest.max_event_bytes',
  'ingest.max_batch_records',
  'ingest.max_batch_bytes',
  'queue.max_bytes_per_key',
  'queue.max_bytes',
  'queue.fsync',
] as const;

/** `spillBytes` is what the graph was made with, whatever the setting says now (D30). */
export function publishedLimits(
  config: Config,
  spillBytes: number,
): Readonly<Record<string, string | number | null>> {
  return {
    ...Object.fromEntries(published.map((key) => [key, config[key]])),
    'graph.spill_bytes': spillBytes,
    'dedup.retention': 'none',
    'deadletter.retention': 'none',
  };
}
