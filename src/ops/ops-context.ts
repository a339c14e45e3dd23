import type { TokenStore } from '#access';
import type { BackupProgress, Manifest } from '#backup';
import type { Clock } from '#base';
import type { EffectiveSetting, ReloadReport } from '#config';
import type { DeadLetters, LetterJobs } from '#dead-letters';
import type { AdoptOrder, AdoptReport, Drain } from '#drain';
import type { GraphStore } from '#graph';
import type { ObjectStore } from '#objects';
import type { ExpiredObjectRows } from '#control';
import type { GivenBack, Retention, SessionRemoval, StorageFacts } from '#keeping';
import type { LogLifeCycle, QueueBackend, QueueLedger, QueueTrouble } from '#queue';
import type { LiveFeed } from '#signals';
import type { KeyRepair } from './queue/key-repair.ts';
import type { Operations } from './operations.ts';

export interface Degradation {
  readonly code: string;
  readonly message: string;
  /** RFC 3339 UTC with milliseconds. */
  readonly since: string;
}

/** A trouble of the queue as the status and the log tell it: with the place, which probes leave out. */
export function degradationOf({ code, message, place, since }: QueueTrouble): Degradation {
  return { code, message: `${message} (${place})`, since };
}

export interface DiskFacts {
  readonly path: string;
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** Versions of everything that is stored or spoken (ING-904). */
export interface Versions {
  readonly product: string;
  readonly protocol: string;
  readonly offsetRecord: number;
  readonly cursorSchema: number;
  readonly controlSchema: number;
}

/** What a verb needs to compact logs; `minBytes` is the committed prefix that is worth it where nothing else is asked for. */
export interface Compaction {
  readonly logs: Pick<LogLifeCycle, 'compactCommittedPrefix'>;
  readonly minBytes: number;
}

export interface SettingsDesk {
  /** Every key; secrets masked (ING-932). */
  effective(): readonly EffectiveSetting[];
  /** CONFIG_RELOAD_REFUSED lists every problem, and nothing has changed. */
  reload(): ReloadReport;
}

/** What verbs need of the running daemon; made in room daemon. */
export interface OpsContext {
  readonly queue: QueueBackend;
  readonly ledger: QueueLedger;
  /** Of a queue of log files alone (ING-102). */
  readonly compaction: Compaction | undefined;
  readonly graph: GraphStore;
  /** Large values that were moved out of the graph (D30). */
  readonly objects: Pick<ObjectStore, 'read'> & Pick<ExpiredObjectRows, 'expiredAt'>;
  readonly drain: Drain;
  readonly deadLetters: DeadLetters;
  /** Bytes of journal that session files do not hold yet; 0 for a queue without one. */
  journalLagBytes(): number;
  /** What happens, for whoever watches. */
  readonly feed: LiveFeed;
  /** Acts on many dead letters. */
  readonly jobs: LetterJobs;
  readonly tokens: Pick<TokenStore, 'add' | 'list' | 'revoke'>;
  readonly operations: Operations;
  /** Deletes sessions from all stores; undefined where a store cannot. */
  readonly removal: SessionRemoval | undefined;
  /** What goes by age or size. */
  readonly retention: Pick<Retention, 'parts' | 'ruleOf' | 'run' | 'reports'>;
  /** What mends a damaged key; undefined for a queue that is no log. */
  readonly repair: KeyRepair | undefined;
  readonly clock: Clock;
  /** Monotonic, ms. */
  readonly startedMs: number;
  readonly versions: Versions;
  /** What is published of the configuration (`/v1/limits`): key of config → value. */
  readonly limits: Readonly<Record<string, string | number | null>>;
  /** The settings in force, and how they are read again. */
  readonly settings: SettingsDesk;
  /** Makes queue and graph know each other again (ING-542). */
  adopt(order: AdoptOrder): Promise<AdoptReport>;
  /** Makes a backup of the whole root on this host (D31); one at a time, BACKUP_RUNNING meanwhile. */
  backup(order: {
    readonly path: string;
    readonly signal: AbortSignal;
    tell(progress: BackupProgress): void;
  }): Promise<{ readonly manifest: Manifest; readonly path: string }>;
  /** Phase of the daemon: `ready`, `draining`, … */
  state(): string;
  /** Troubles that neither the ledger nor the drain knows (such as a lost tenure). */
  degraded(): readonly Degradation[];
  disk(): Promise<DiskFacts>;
  /** What the root takes, as measured last; undefined before the first measure has ended. */
  storage(): StorageFacts | undefined;
  /** Gives back what stores do not use; BACKUP_RUNNING, VACUUM_REFUSED. */
  vacuum(): Promise<readonly GivenBack[]>;
}
