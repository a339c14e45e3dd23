import type { JobItem, JobRow } from '#control';
import type { LetterFilter } from './dead-letters.ts';

export const jobKinds = ['requeue', 'discard'] as const;
export type JobKind = (typeof jobKinds)[number];

/** An act on many letters (ING-716): its selection is written down whole, then carried out, however often the daemon starts meanwhile. */
export interface LettersOrder {
  /** Of the operation; the same one again is the same job (C25). */
  readonly id: string;
  readonly kind: JobKind;
  readonly principal: string;
  readonly filter: LetterFilter;
  /** Letters per second at most; as fast as the queue takes them where it is not given. */
  readonly perSecond?: number;
  /** Also letters of earlier epochs into the present one (ING-715). */
  readonly intoCurrent?: boolean;
  readonly reason?: string;
  /** `confirmOf` of the letters that were shown: SELECTION_CHANGED when they are others by now. */
  readonly confirm?: string;
}

export interface JobSettings {
  readonly perSecond?: number;
  readonly intoCurrent?: boolean;
  readonly reason?: string;
}

export interface JobView extends JobRow {
  /** Why it stands still though it runs: the queue refuses appends for now. */
  readonly waitingFor: { readonly code: string; readonly message: string } | null;
}

/** Many letters, one job after the other within each (SC-035): nothing is both requeued and left. */
export interface LetterJobs {
  /** Goes on with what a former process left. */
  start(): void;
  /**
   * Selects and begins; resolves once the selection is durable. Rejects with SELECTION_CHANGED, SELECTION_TOO_LARGE, JOBS_FULL, and nothing was
   * begun.
   */
  begin(order: LettersOrder): Promise<JobView>;
  find(id: string): JobView | undefined;
  list(page: { readonly limit: number; readonly before?: number }): readonly JobView[];
  items(
    id: string,
    page: { readonly limit: number; readonly after?: number; readonly result?: string },
  ): readonly JobItem[];
  /** Jobs that have not ended. */
  open(): number;
  /** Ends it: what is done stays done, the rest is left as it is. JOB_UNKNOWN; JOB_STATE for one that has ended. */
  cancel(id: string): JobView;
  pause(id: string): JobView;
  resume(id: string): JobView;
  /** Resolves when it has ended or is paused, or at the signal's end. */
  settled(id: string, signal: AbortSignal): Promise<JobView>;
  /** Stops between two appends; the next start goes on. */
  stop(): Promise<void>;
}
