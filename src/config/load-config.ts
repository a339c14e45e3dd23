import { nearest } from '#base';
import { contradictionsOf } from './contradictions.ts';
import { configInvalid, type ConfigProblem } from './errors.ts';
import { parseValue } from './parse-value.ts';
import { readConfigText } from './read-file.ts';
import {
  configKeyNames,
  environmentName,
  isConfigKey,
  specOf,
  type Config,
  type ConfigKey,
} from './schema.ts';

export { parseAddress, parseDurationMs, type ListenAddress } from './parse-value.ts';

export interface ConfigSources {
  /** By key; the strongest. */
  readonly flags?: Readonly<Record<string, string>>;
  /** MILLRACE_… variables by name (`Environment.settings`). */
  readonly environment?: Readonly<Record<string, string>>;
  readonly file?: { readonly path: string; readonly text: string } | undefined;
}

/** Where a key's value came from: `default`, `command line`, a variable's name, or `FILE:LINE`. */
export type Origin = string;

export interface LoadedConfig {
  readonly config: Config;
  readonly origins: Readonly<Record<ConfigKey, Origin>>;
}

interface Written {
  readonly text: string;
  readonly origin: string;
}

/** Flags over environment over file over default. Rejects with CONFIG_INVALID that lists every problem. Pure. */
export function loadConfig(sources: ConfigSources): LoadedConfig {
  const problems: ConfigProblem[] = [];
  const written = new Map<ConfigKey, Written>();
  takeFile(sources, written, problems);
  takeEnvironment(sources, written, problems);
  takeFlags(sources, written, problems);
  const values: Record<string, unknown> = {};
  const origins: Record<string, Origin> = {};
  for (const key of configKeyNames) {
    const spec = specOf(key);
    const { text, origin } = written.get(key) ?? { text: spec.default, origin: 'default' };
    origins[key] = origin;
    const parsed = text === null ? { value: null } : parseValue(text, spec);
    if ('problem' in parsed) problems.push({ key, origin, problem: parsed.problem });
    else values[key] = parsed.value;
  }
  const config = values as Config;
  if (problems.length === 0) problems.push(...contradictionsOf(config));
  if (problems.length > 0) throw configInvalid({ problems });
  return { config, origins: origins as Record<ConfigKey, Origin> };
}

function takeFile(
  { file }: ConfigSources,
  written: Map<ConfigKey, Written>,
  problems: ConfigProblem[],
): void {
  if (file === undefined) return;
  const read = readConfigText(file.path, file.text);
  problems.push(...read.problems);
  for (const [key, { text, origin }] of read.settings) {
    if (isConfigKey(key)) written.set(key, { text, origin });
    else problems.push({ key, origin, problem: unknownKey(key, configKeyNames) });
  }
}

/** Variables that are no settings, and may be meant by one that is mistyped. */
const otherNames = ['MILLRACE_ROOT', 'MILLRACE_URL', 'MILLRACE_TOKEN'];

function takeEnvironment(
  { environment = {} }: ConfigSources,
  written: Map<ConfigKey, Written>,
  problems: ConfigProblem[],
): void {
  const byName = new Map(configKeyNames.map((key) => [environmentName(key), key]));
  for (const [name, text] of Object.entries(environment)) {
    const key = byName.get(name);
    if (key !== undefined) written.set(key, { text, origin: name });
    else
      problems.push({
        key: name,
        origin: 'environment',
        problem: unknownKey(name, [...byName.keys(), ...otherNames]),
      });
  }
}

function takeFlags(
  { flags = {} }: ConfigSources,
  written: Map<ConfigKey, Written>,
  problems: ConfigProblem[],
): void {
  for (const [key, text] of Object.entries(flags)) {
    if (isConfigKey(key)) written.set(key, { text, origin: 'command line' });
    else problems.push({ key, origin: 'command line', problem: unknownKey(key, configKeyNames) });
  }
}

function unknownKey(name: string, known: readonly string[]): string {
  const guess = nearest(name, known) ?? onlyEnd(name, known);
  return `is no setting${guess === undefined ? '' : `; did you mean ${guess}?`}`;
}

/** The one setting that ends so: `neo4j.url` for `graph.neo4j.url`, MILLRACE_LISTEN for MILLRACE_HTTP__LISTEN. */
function onlyEnd(name: string, known: readonly string[]): string | undefined {
  const words = (text: string): string =>
    `_${text.replace(/^MILLRACE_/, '').replace(/[^A-Za-z0-9]+/g, '_')}`.toLowerCase();
  const [only, ...others] = known.filter((one) => words(one).endsWith(words(name)));
  return others.length === 0 ? only : undefined;
}
