import { defineChannel, type Channel } from './channel.ts';

/** Durations are milliseconds, sizes bytes. No payload and no secret ever travels here. */
export interface RequestFinished {
  readonly route: string;
  readonly status: number;
  readonly accepted: number;
  readonly duplicates: number;
  /** Count per error code. */
  readonly rejected: Readonly<Record<string, number>>;
  readonly bodyBytes: number;
  readonly durationMs: number;
}
export interface ValuesRedacted {
  /** Values taken out, by the kind of rule. */
  readonly counts: Readonly<Record<string, number>>;
}
export interface JournalSynced {
  readonly frames: number;
  readonly records: number;
  readonly bytes: number;
  readonly durationMs: number;
}
export interface JournalFailed {
  readonly segment: string;
  readonly code: string;
  readonly message: string;
  /** Of failures in a row, 1 for the first. */
  readonly attempt: number;
}
export interface Checkpointed {
  readonly keys: number;
  readonly bytes: number;
  readonly durationMs: number;
}
export interface Recovered {
  readonly frames: number;
  readonly keys: number;
  readonly tornBytes: number;
  readonly damagedRanges: number;
  readonly durationMs: number;
}
/** The epoch of a session has ended: its log went, its cursor stays in the key's row. */
export interface KeyFinalised {
  readonly key: string;
  readonly ordinal: number;
}
/** What a retention, or an operator by its rule, has taken away. */
export interface RetentionTaken {
  readonly part: string;
  readonly count: number;
  readonly bytes: number;
}
/** The committed prefix of a log went. */
export interface LogCompacted {
  readonly key: string;
  readonly bytes: number;
  readonly durationMs: number;
}
export interface KeyQuarantined {
  readonly key: string;
  readonly code: string;
  readonly message: string;
}
/** Dead records that a position was moved past, because their letters were durable and the commit behind them was not (ING-702). */
export interface DeadPassed {
  readonly key: string;
  readonly records: number;
  readonly from: string;
  readonly to: string;
}
/** A key's position was set by a reset or by a way out of its quarantine. */
export interface PositionSet {
  readonly key: string;
  readonly mode: string;
  readonly by: string;
  readonly operation: string;
  readonly from: string;
  readonly to: string;
  /** Dead letters that the step made, and the records in them. */
  readonly letters: number;
  readonly deadRecords: number;
}
export interface EvidenceKept {
  readonly path: string;
  readonly reason: string;
}
export interface GroupApplied {
  readonly keys: number;
  readonly records: number;
  readonly mutations: number;
  readonly durationMs: number;
}
export interface BatchCommitted {
  readonly key: string;
  readonly records: number;
  readonly position: string;
  readonly durationMs: number;
  /** From the accept time of the batch's first record to its commit. */
  readonly lagMs: number;
}
export interface ApplyRetried {
  readonly class: string;
  readonly code: string;
  readonly message: string;
  readonly attempt: number;
  readonly delayMs: number;
}
/** Records of one request that are durable now, by runs of one session. */
export interface RecordsAccepted {
  readonly groups: readonly {
    readonly key: string;
    readonly workspace: string;
    readonly session: string;
    readonly records: number;
    /** Of the last of them. */
    readonly position: string;
  }[];
}
export interface RecordDead {
  readonly key: string;
  readonly position: string;
  readonly code: string;
  readonly message: string;
}
export interface WorkerChanged {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}
export interface DaemonChanged {
  readonly state: 'starting' | 'recovering' | 'ready' | 'draining' | 'stopped' | 'fenced';
  readonly detail: string;
}

/** Something that an operator should look at, and that changes no state: a raised generation, a foreign lease row. */
export interface DaemonNoticed {
  readonly code: string;
  readonly message: string;
}

/** What keeps the daemon from being well has changed; empty when it is well. */
export interface HealthChanged {
  readonly degraded: readonly {
    readonly code: string;
    readonly message: string;
    /** RFC 3339 UTC. */
    readonly since: string;
  }[];
}

/** This process may write from now on, under this fencing number. */
export interface TenureTaken {
  readonly domain: string;
  readonly generation: number;
}

/** A watcher of the live view was too slow. */
export interface StreamMissed {
  /** Messages that it did not get; 0 where nobody can say. */
  readonly count: number;
}

/** An act of an operator, done or refused (ING-916). */
export interface OpsAudited {
  readonly operation_id: string;
  readonly verb: string;
  readonly principal: string;
  /** What was asked for: names, filters, reasons; never a payload or a secret. */
  readonly input: Readonly<Record<string, unknown>>;
  /** `done`, or the code of the refusal. */
  readonly outcome: string;
  /** How many things it touched; null where that has no meaning. */
  readonly count: number | null;
}

export const requestFinished: Channel<RequestFinished> = defineChannel(
  'millrace:http:request-finished',
);
export const valuesRedacted: Channel<ValuesRedacted> = defineChannel('millrace:ingest:redacted');
export const journalSynced: Channel<JournalSynced> = defineChannel('millrace:queue:journal-synced');
export const journalFailed: Channel<JournalFailed> = defineChannel('millrace:queue:journal-failed');
export const checkpointed: Channel<Checkpointed> = defineChannel('millrace:queue:checkpointed');
export const recovered: Channel<Recovered> = defineChannel('millrace:queue:recovered');
export const keyFinalised: Channel<KeyFinalised> = defineChannel('millrace:queue:key-finalised');
export const retentionTaken: Channel<RetentionTaken> = defineChannel('millrace:keeping:taken');
export const logCompacted: Channel<LogCompacted> = defineChannel('millrace:queue:log-compacted');
export const keyQuarantined: Channel<KeyQuarantined> = defineChannel(
  'millrace:queue:key-quarantined',
);
export const deadPassed: Channel<DeadPassed> = defineChannel('millrace:queue:dead-passed');
export const positionSet: Channel<PositionSet> = defineChannel('millrace:queue:position-set');
export const evidenceKept: Channel<EvidenceKept> = defineChannel('millrace:queue:evidence-kept');
export const groupApplied: Channel<GroupApplied> = defineChannel('millrace:drain:group-applied');
export const batchCommitted: Channel<BatchCommitted> = defineChannel(
  'millrace:drain:batch-committed',
);
export const applyRetried: Channel<ApplyRetried> = defineChannel('millrace:drain:apply-retried');
export const recordsAccepted: Channel<RecordsAccepted> = defineChannel(
  'millrace:ingest:records-accepted',
);
export const recordDead: Channel<RecordDead> = defineChannel('millrace:drain:record-dead');
export const workerChanged: Channel<WorkerChanged> = defineChannel('millrace:drain:worker-changed');
export const daemonChanged: Channel<DaemonChanged> = defineChannel('millrace:daemon:changed');
export const daemonNoticed: Channel<DaemonNoticed> = defineChannel('millrace:daemon:noticed');
export const healthChanged: Channel<HealthChanged> = defineChannel(
  'millrace:daemon:health-changed',
);
export const tenureTaken: Channel<TenureTaken> = defineChannel('millrace:daemon:tenure-taken');
export const streamMissed: Channel<StreamMissed> = defineChannel('millrace:http:stream-missed');
export const opsAudited: Channel<OpsAudited> = defineChannel('millrace:ops:audited');
