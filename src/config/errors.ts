import { defineError, type ErrorFactory } from '#base';

export interface ConfigProblem {
  /** The key, or the variable or member that is none. */
  readonly key: string;
  /** Where it was set: `--set`, `MILLRACE_…`, or a file's path. */
  readonly origin: string;
  readonly problem: string;
}

/** All problems at once (ING-931): nobody should start ten times to learn of ten mistakes. */
export const configInvalid: ErrorFactory<{ problems: readonly ConfigProblem[] }> = defineError(
  'CONFIG_INVALID',
  'fatal',
  ({ problems }) =>
    `the configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${problems
      .map(({ key, origin, problem }) => `  ${key} (${origin}): ${problem}`)
      .join('\n')}`,
);
