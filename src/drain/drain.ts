import type { Key, Position } from '#record';

/** Where a key's worker stands. The table of moves is in `worker-state.ts`. */
export type WorkerState =
  | 'starting'
  | 'arming'
  | 'reading'
  | 'applying'
  | 'backing-off'
  | 'idle'
  | 'quarantined'
  | 'mismatched'
  | 'stopped';

export interface WorkerView {
  readonly state: WorkerState;
  /** Failures in a row since the last success. */
  readonly attempts: number;
  /** The last failure, while the worker has not got past it. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Something that keeps the drain from being well; goes when its cause does. */
export interface DrainTrouble {
  readonly code: string;
  readonly message: string;
  /** RFC 3339 UTC with milliseconds. */
  readonly since: string;
}

export interface DrainStatus {
  /** Live workers by state. */
  readonly workers: Readonly<Partial<Record<WorkerState, number>>>;
  /** Active keys that wait for a free worker. */
  readonly waitingKeys: number;
  /** Keys whose graph does not belong to their log (ING-541); each is also in `trouble`. */
  readonly mismatchedKeys: number;
  readonly groupsInFlight: number;
  /** Part of a core that the fold may take now: less than 1 while clients go first. */
  readonly share: number;
  readonly trouble: readonly DrainTrouble[];
}

export interface StopReport {
  /** Whether all workers ended before the deadline. */
  readonly isClean: boolean;
  readonly abandonedKeys: number;
}

/** Moves records from the queue to the graph: one worker per active key, one transaction for many keys (ING-401, D8). */
export interface Drain {
  /** Starts the sweeps and the respawn of workers for what was left; resolves at once (ING-820). */
  start(): void;
  /** A hint that `key` has a new record; never blocks and may be repeated at will. */
  wake(key: Key): void;
  /** Drains a halted key again, once an operator has mended it (ING-412, ING-542). */
  resume(key: Key): void;
  /** The rows of these keys were set by `graph adopt`, or those of all keys and with them the graph itself: what stood still goes on (ING-542). */
  adopted(keys: readonly Key[] | 'all'): void;
  /**
   * Resolves when no transaction runs that is not committed as well, to the function that ends the pause; meanwhile none begins (D31). Appends
   * go on. Rejects with the signal's reason when those that run do not end in time.
   */
  pause(signal: AbortSignal): Promise<() => void>;
  status(): DrainStatus;
  /** Undefined when the key has no worker: nothing to do, or it waits for a free one. */
  worker(key: Key): WorkerView | undefined;
  /** Resolves when nothing that can be drained is pending and all is committed; rejects with the signal's reason. */
  idle(signal: AbortSignal): Promise<void>;
  /** Resolves once the committed position of `key` is at or past `position`; rejects with the signal's reason. */
  waitApplied(key: Key, position: Position, signal: AbortSignal): Promise<void>;
  /** Stops at batch borders (ING-414); what is not done by `deadlineMs` is left for the next start, and nothing dies of it (PN-05). */
  stop(deadlineMs: number): Promise<StopReport>;
}
