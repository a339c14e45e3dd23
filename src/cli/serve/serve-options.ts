import { readFileSync } from 'node:fs';
import { messageOf } from '#base';
import { configInvalid, loadConfig, type Environment, type LoadedConfig } from '#config';
import { resolveRoot, type ChosenRoot } from '#roots';
import { usage } from '../errors.ts';

/** What `serve` and `doctor` may be told on the command line. */
export interface ServeFlags {
  readonly root?: string;
  readonly listen?: string;
  readonly port?: string;
  readonly config?: string;
  readonly set?: readonly string[];
  readonly logLevel?: string;
  readonly readyFd?: string;
  readonly json?: boolean;
}

/** Flags over environment over file over default (ING spec §8). */
export function loadServeConfig(flags: ServeFlags, environment: Environment): LoadedConfig {
  return loadConfig({
    flags: settingsOf(flags),
    environment: environment.settings,
    file: readConfigFile(flags.config, environment.configFile),
  });
}

export function chooseRoot(flags: ServeFlags, environment: Environment): ChosenRoot {
  return resolveRoot({
    flag: flags.root,
    environment: environment.root,
    platformDefault: environment.defaultRoot,
  });
}

function settingsOf(flags: ServeFlags): Readonly<Record<string, string>> {
  const pairs = (flags.set ?? []).map((pair): [string, string] => {
    const at = pair.indexOf('=');
    if (at < 1) throw usage({ problem: `--set ${pair} is not KEY=VALUE` });
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return {
    ...(flags.port === undefined ? {} : { 'http.listen': `127.0.0.1:${flags.port}` }),
    ...(flags.listen === undefined ? {} : { 'http.listen': flags.listen }),
    ...(flags.logLevel === undefined ? {} : { 'log.level': flags.logLevel }),
    ...Object.fromEntries(pairs),
  };
}

/** A file that was named must be there; the default one may be missing. */
export function readConfigFile(
  named: string | undefined,
  byDefault: string,
): { readonly path: string; readonly text: string } | undefined {
  const path = named ?? byDefault;
  try {
    return { path, text: readFileSync(path, 'utf8') };
  } catch (error) {
    const isAbsent = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (named === undefined && isAbsent) return undefined;
    const problem = `cannot be read: ${messageOf(error)}`;
    throw configInvalid({ problems: [{ key: 'the file', origin: path, problem }] });
  }
}
