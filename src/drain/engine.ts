import type { LimitFunction } from 'p-limit';
import type { Chance, Clock, Gate, MillraceError } from '#base';
import type { GraphStore } from '#graph';
import type { ObjectStore } from '#objects';
import type { LogLifeCycle, QueueBackend, QueueLedger } from '#queue';
import type { Key, Position } from '#record';
import type { KeyArmer } from './arm/arm-keys.ts';
import type { ByteBudget } from './byte-budget.ts';
import type { Folder } from './fold/folder.ts';
import type { Pace } from './pace/drain-pace.ts';
import type { GroupApplier } from './group-applier.ts';
import type { Pauses } from './worker/pauses.ts';
import type { Fold } from './fold/plan-batch.ts';
import type { DrainSettings } from './settings.ts';
import type { Troubles } from './worker/troubles.ts';

/** What the workers of one drain share. */
export interface Engine {
  readonly queue: QueueBackend;
  readonly ledger: QueueLedger;
  readonly lifeCycle?: LogLifeCycle;
  readonly graph: GraphStore;
  readonly objects: ObjectStore;
  readonly rootId: string;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly settings: DrainSettings;
  readonly fold: Fold;
  readonly folder: Folder;
  readonly armer: KeyArmer;
  readonly applier: GroupApplier;
  readonly held: ByteBudget;
  readonly pace: Pace;
  /** From a batch's transaction to its commit; held while a snapshot is taken or rows are set. */
  readonly gate: Gate;
  readonly pauses: Pauses;
  readonly troubles: Troubles;
  /** Bounds the values that are written at once. */
  readonly putLimit: LimitFunction;
  /** No transaction and no dead letter begins from then on (PN-05). */
  isStopping(): boolean;
  /** Others wait for a worker: give way at a batch border. */
  mustYield(): boolean;
  /** Waits within a run for its next try; another key may be at work meanwhile. */
  paused(wait: () => Promise<void>): Promise<void>;
  /** Said after each commit. */
  committed(key: Key, after: Position): void;
  /** Ends all work for a fault that concerns every key: fenced, or fatal. */
  stopAll(error: MillraceError): void;
}
