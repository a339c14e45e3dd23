/** Where a job stands. `selecting`: its selection is not whole yet, nothing was done. */
export const jobStates = ['selecting', 'running', 'paused', 'done', 'cancelled'] as const;
export type JobState = (typeof jobStates)[number];

/** A long act as it was ordered. Texts of JSON. */
export interface JobOrder {
  readonly id: string;
  readonly kind: string;
  readonly principal: string;
  /** Workspaces that its caller may use; null means all. */
  readonly workspaces: string | null;
  /** The filter as it was asked for, for people. */
  readonly selection: string;
  /** What else was asked for: rate, reason. */
  readonly settings: string;
}

export interface JobRow extends JobOrder {
  /** Rises with each job: the newest first in lists. */
  readonly seq: number;
  readonly state: JobState;
  /** Things that were selected. */
  readonly total: number;
  /** How many things have which result; what is missing to `total` waits. */
  readonly counts: Readonly<Record<string, number>>;
  /** RFC 3339 UTC with milliseconds. */
  readonly madeAt: string;
  readonly endedAt: string | null;
}

export interface JobItem {
  readonly item: number;
  readonly subject: string;
  /** Null while it waits. */
  readonly result: string | null;
  /** JSON of what belongs to the result. */
  readonly detail: string | null;
  readonly at: string | null;
}

export interface JobResult {
  readonly item: number;
  readonly result: string;
  readonly detail: string | null;
}

/** Jobs in the control database: each call is one durable transaction. */
export interface JobRows {
  /** Begins a selection; one of the same id that never became whole is thrown away first. Old jobs that have ended go beyond a bound. */
  begin(order: JobOrder): void;
  /** More of the selection. */
  add(id: string, subjects: readonly string[]): void;
  /** The selection is whole: from now on it is carried out, whatever happens. */
  ready(id: string): JobRow;
  find(id: string): JobRow | undefined;
  /** Newest first, before job `before` where it is given. */
  list(page: { readonly limit: number; readonly before?: number }): readonly JobRow[];
  /** Those that have not ended, oldest first. */
  open(): readonly JobRow[];
  /** False when the job has ended, or its selection is not whole. */
  move(id: string, to: 'running' | 'paused' | 'done' | 'cancelled'): boolean;
  /** The next things that wait. */
  waiting(id: string, limit: number): readonly JobItem[];
  /** Results of things that waited; one that has a result keeps it. */
  settle(id: string, results: readonly JobResult[]): void;
  items(
    id: string,
    page: { readonly limit: number; readonly after?: number; readonly result?: string },
  ): readonly JobItem[];
  /** Throws away selections that a former process never finished; returns how many. */
  abandon(): number;
}

/** When operators were first told of something that will happen. */
export interface NoticeRows {
  /** The time at which it was first told, now if it was not; RFC 3339 UTC. */
  firstTold(name: string): string;
  /** The same for many at once; names that begin like `prefix` and are not among them are forgotten. */
  tellOnly(prefix: string, names: readonly string[]): ReadonlyMap<string, string>;
  /** It need not be told any more. */
  forget(name: string): void;
}

/** Jobs that have ended and are kept, with the results of each of their things. */
export const endedJobsMax = 200;
