import type { Backoff } from '#base';

/** Every limit of the drain (P9). Counts unless the name says otherwise. */
export interface DrainSettings {
  /** Records and bytes of one key folded at once (ING-402). */
  readonly batchRecordsMax: number;
  readonly batchBytesMax: number;
  /** Records, and estimated bytes, of one graph transaction (ING-531, ING-854). */
  readonly groupRecordsMax: number;
  readonly groupBytesMax: number;
  /** Graph transactions at once (ING-852). */
  readonly writeConcurrency: number;
  /** Tries of a record that the store refuses, before it is a dead letter (ING-537). */
  readonly deliveryAttemptsMax: number;
  /** Between two sweeps over the active keys (ING-416). */
  readonly pollMs: number;
  /** An idle worker leaves memory after it (ING-806). */
  readonly idleExitMs: number;
  /** Waits between tries; attempts themselves have no limit (ING-413, ING-511). */
  readonly backoff: Backoff;
  /** Failures in a row after which the status says so. */
  readonly degradedAfter: number;
  /** Workers at work at the start; each commit adds one, up to `workersMax` (ING-826). */
  readonly respawnLimit: number;
  readonly workersMax: number;
  /** Keys that one sweep puts in line: at 20,000 active keys a sweep over all of them took 25 ms of every 250. */
  readonly enqueuedMax: number;
  /** Workers in memory that are at work or wait for their next try. */
  readonly runsMax: number;
  /** Idle workers that are kept for their cursor; beyond it the longest idle one leaves. */
  readonly idleWorkersMax: number;
  /** Bytes of records that all workers hold at once; one batch more when a single record is larger. */
  readonly heldBytesMax: number;
}

export const drainSettingsDefault: DrainSettings = {
  batchRecordsMax: 100,
  batchBytesMax: 4 * 2 ** 20,
  groupRecordsMax: 1000,
  groupBytesMax: 16 * 2 ** 20,
  writeConcurrency: 4,
  deliveryAttemptsMax: 3,
  pollMs: 250,
  idleExitMs: 600_000,
  backoff: { baseMs: 100, maxMs: 30_000 },
  degradedAfter: 5,
  respawnLimit: 8,
  // The fewer, the more of a session a batch has by its turn: 1024 of 1000 busy sessions took 150 µs of the main thread for an event, 64 take 105.
  workersMax: 64,
  runsMax: 1024,
  enqueuedMax: 4096,
  idleWorkersMax: 4096,
  // A batch is copied some four times on its way to the graph: with 32 MiB, and records of 20 KB, a starved machine saw 550 MiB resident.
  heldBytesMax: 16 * 2 ** 20,
};
