/** One broken promise, and the words that break it again. */
export interface LabFailure {
  readonly seed: number;
  readonly message: string;
  /** The shortest run that still fails, where one was looked for. */
  readonly steps?: string;
  /** Command line that repeats it. */
  readonly replay: string;
}

/** What every experiment ends with; counts say how much was tried. */
export interface LabReport {
  readonly experiment: string;
  readonly seed: number;
  readonly counts: Readonly<Record<string, number | string>>;
  readonly failures: readonly LabFailure[];
  readonly durationMs: number;
}

/** How an experiment tells how far it is; called often. */
export type Progress = (text: string) => void;

/** More of them say nothing new, and each is shortened. */
export const failuresMax = 3;
