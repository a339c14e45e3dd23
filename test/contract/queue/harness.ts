import type { QueueLimits } from '#queue';
import type { Queue } from '../../support/queue-fixtures.ts';

/** What a harness can do beside opening; a backend that has no way to show one of them says so by leaving it out. */
export type HarnessAbility = 'crash' | 'takeOver' | 'refusesStale' | 'loseTenure' | 'faults';

/** A place with one queue in it, for one check. */
export interface QueueHarness {
  /** Opens the queue of a fresh place, with these limits from now on. */
  open(limits?: Partial<QueueLimits>): Promise<Queue>;
  /** Closes the open queue and opens it again, with a higher generation as every start has. */
  reopen(): Promise<Queue>;
  /** Drops the open queue as kill and power loss do: nothing is closed, unsynced bytes are lost; then opens it again. */
  crash?: () => Promise<Queue>;
  /** Opens the place a second time with a higher generation while the first queue believes it is alone. */
  takeOver?: () => Promise<Queue>;
  /**
   * The backend tells a writer of an older generation at once that it is fenced. Without it such a write may seem to succeed, as in a file that
   * nobody reads any more; that it takes no effect is checked in any case.
   */
  refusesStale?: true;
  /** Ends the permit of the open queue. */
  loseTenure?: () => void;
  faults?: {
    /** The next `count` syncs fail, once `after` others went well; 0 takes a fault away. */
    failSyncs(count: number, after?: number): void;
    /** Syncs wait from now on; the returned function lets them go. */
    holdSyncs(): () => void;
  };
  /** Ends whatever is open, held syncs included. */
  dispose(): Promise<void>;
}

/** A promise of every queue, as a check: the self-test runs it on broken queues and expects it to fail. */
export interface QueueCheck {
  readonly name: string;
  readonly needs?: readonly HarnessAbility[];
  run(harness: QueueHarness): Promise<void>;
}
