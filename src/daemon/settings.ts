import { parseRedactRules, type Config, type RedactRule } from '#config';
import type { DrainSettings } from '#drain';
import type { IngestLimits } from '#ingest';
import type { QueueLimits } from '#queue';

/** Limits of the queue's plug; pure, as everything here. Sizes in bytes. */
export interface QueueSettings extends QueueLimits {
  readonly segmentBytes: number;
  readonly reserveBytes: number | null;
  readonly autoResetBytesMax: number;
}

/** Live settings are members that read them (`LiveConfig`), so that a reload is felt without a word to who uses them. */
export function queueSettings(config: Config): QueueSettings {
  return {
    segmentBytes: config['queue.segment_bytes'],
    get bytesMax() {
      return config['queue.max_bytes'];
    },
    get bytesPerKeyMax() {
      return config['queue.max_bytes_per_key'];
    },
    reserveBytes: config['queue.reserve_bytes'],
    cursorBytesMax: config['cursor.max_bytes'],
    get quarantineBacklogBytesMax() {
      return config['quarantine.max_backlog_bytes'];
    },
    autoResetBytesMax: config['boot.auto_reset_max_bytes'],
  };
}

/** Open files of an idle daemon: stores, journal, threads, listener; with room to spare. */
const ownFiles = 64;
/** Where the platform does not tell its limit, the smallest that is usual. */
const openFilesUsual = 1024;

/** What may be open at once, so that sockets never take the descriptors that the journal needs (P9). */
export interface OpenFilesPlan {
  readonly connectionsMax: number;
  /** Session logs kept open (QFS-15). */
  readonly logHandlesMax: number;
}

/** A third for connections, a sixth for session logs; the rest is for files that are open for a moment. Pure. */
export function planOpenFiles(
  openFilesMax: number | undefined,
  configuredConnections: number | null,
): OpenFilesPlan {
  const free = Math.max(0, (openFilesMax ?? openFilesUsual) - ownFiles);
  return {
    connectionsMax: configuredConnections ?? Math.max(8, Math.floor(free / 3)),
    logHandlesMax: Math.min(256, Math.max(4, Math.floor(free / 6))),
  };
}

const walShare = 0.01;
const walBytesMost = 16 * 2 ** 20;

/** Length of the graph's write-ahead log: its pages and their copies in the file must fit into the default reserve of 5 % (QFS-30). Pure. */
export function graphWalBytes(diskTotalBytes: number): number {
  return Math.min(walBytesMost, Math.floor(diskTotalBytes * walShare));
}

/** When an idle log is compacted (ING-813). */
export function compactionSettings(config: Config): {
  readonly idleMs: number;
  readonly minBytes: number;
} {
  return {
    get idleMs() {
      return config['compaction.idle_ms'];
    },
    get minBytes() {
      return config['compaction.min_bytes'];
    },
  };
}

/** Bodies of all requests in memory at once: four of the largest, so that one client cannot take it all. */
const bodiesInFlightMax = 4;
/** Longer than any sync, shorter than the time-outs of known clients (10 s). */
const idWaitMs = 5000;

/** Parsed once for each value of the setting, which a reload may change. */
export function redactRules(config: Config): () => readonly RedactRule[] {
  let texts: readonly string[] = [];
  let rules: readonly RedactRule[] = [];
  return () => {
    const now = config['ingest.redact'];
    if (now !== texts) {
      texts = now;
      rules = parseRedactRules(now);
    }
    return rules;
  };
}

export function ingestLimits(config: Config): IngestLimits {
  return {
    get eventBytesMax() {
      return config['ingest.max_event_bytes'];
    },
    get batchRecordsMax() {
      return config['ingest.max_batch_records'];
    },
    batchBytesMax: config['ingest.max_batch_bytes'],
    get queueBytesMax() {
      return config['queue.max_bytes'];
    },
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
    'deadletter.retention': config['deadletter.retention'] ?? 'none',
  };
}
