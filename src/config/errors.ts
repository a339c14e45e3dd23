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
  ({ problems }) => `the configuration has ${describe(problems)}`,
);

/** The running daemon goes on with the settings that it has. */
export const reloadRefused: ErrorFactory<{ problems: readonly ConfigProblem[] }> = defineError(
  'CONFIG_RELOAD_REFUSED',
  'reject',
  ({ problems }) =>
    `nothing was reloaded, the settings in force stay: the configuration has ${describe(problems)}`,
);

function describe(problems: readonly ConfigProblem[]): string {
  const lines = problems.map(({ key, origin, problem }) => `  ${key} (${origin}): ${problem}`);
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  return `${count}:\n${lines.join('\n')}`;
}
