import type { Key } from '#record';
import type { AppliedMark } from './backend.ts';

/** What `backup restore` leaves in a queue, so that the next start adopts the graph that came with it (ING-542). */
export interface RestoredFrom {
  /** Of the backup. */
  readonly backupId: string;
  /** Root whose queue and graph were saved; the rows of the graph still name it. */
  readonly rootId: string;
}

/** A key that the graph may have a row of. */
export interface BondedKey {
  readonly key: Key;
  /** Last record that the graph is known to hold; null when none was applied (ING-541). */
  readonly applied: AppliedMark | null;
}

/**
 * What ties a queue to its graph (ING-540…542): beside the ten members of `QueueBackend`, for `graph adopt` alone. A queue without it was never
 * told which graph is its own.
 */
export interface GraphBond {
  /** The graph that this root belongs to; null while it has met none (ING-540). */
  readonly graphId: string | null;
  /** Set from a restore to the end of the first adopt. */
  readonly restoredFrom: RestoredFrom | null;
  /** Every key that was ever known, finalised ones too, in key order. */
  bondedKeys(page: {
    readonly after: Key | undefined;
    readonly limit: number;
  }): Promise<readonly BondedKey[]>;
  /** The same as of each key's last checkpoint, without a look at any of its files: for a pass over all keys, whose finds are looked at again. */
  checkpointedKeys(page: {
    readonly after: Key | undefined;
    readonly limit: number;
  }): readonly BondedKey[];
  /** Undefined for a key that was never known. */
  bondedKey(key: Key): Promise<BondedKey | undefined>;
  /**
   * Forgets the event ids of records at or before the committed position, so that the same events are taken again; durable when it resolves. Ids
   * of dead letters and of records that wait stay. Returns how many went.
   */
  forgetApplied(keys: readonly Key[]): Promise<number>;
  /** The root belongs to this graph from now on, and a restore is over. The last step of an adopt. */
  bindGraph(graphId: string): Promise<void>;
}
