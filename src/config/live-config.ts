import type { LoadedConfig } from './load-config.ts';
import { configKeyNames, specOf, type Config, type ConfigKey } from './schema.ts';

/** One setting that a reload found changed. */
export interface SettingChange {
  readonly key: ConfigKey;
  /** Masked when it is a secret (ING-932). */
  readonly from: unknown;
  readonly to: unknown;
  /** Where the new value comes from. */
  readonly origin: string;
}

/** What a reload did. */
export interface ReloadReport {
  /** In force from now on. */
  readonly applied: readonly SettingChange[];
  /** Read and not in force: the daemon has to be started again for them. */
  readonly needsRestart: readonly SettingChange[];
}

/** The settings of a running daemon: those that are live change under who reads them, all others stay as they were at the start. */
export interface LiveConfig {
  /** Reads of a live key give the value in force; keep this object, not the value. */
  readonly loaded: LoadedConfig;
  /** Puts the live keys of `next` in force, all at once. */
  replace(next: LoadedConfig): ReloadReport;
}

export function createLiveConfig(started: LoadedConfig): LiveConfig {
  let current = started;
  const config = viewOf(started.config, () => current.config);
  const origins = viewOf(started.origins, () => current.origins);
  return {
    loaded: { config: config as Config, origins },
    replace(next) {
      const report = compareConfig(current, next);
      const values: Record<string, unknown> = { ...current.config };
      const places: Record<string, string> = { ...current.origins };
      for (const { key } of report.applied) values[key] = next.config[key];
      for (const key of configKeyNames)
        if (same(values[key], next.config[key])) places[key] = next.origins[key];
      current = { config: values as Config, origins: places as LoadedConfig['origins'] };
      return report;
    },
  };
}

/** Which settings differ, and whether a running daemon can take them over. Pure. */
export function compareConfig(running: LoadedConfig, next: LoadedConfig): ReloadReport {
  const changes = configKeyNames
    .filter((key) => !same(running.config[key], next.config[key]))
    .map((key): SettingChange => {
      const shown = (value: unknown): unknown =>
        specOf(key).isSecret === true && value !== null ? mask : value;
      return {
        key,
        from: shown(running.config[key]),
        to: shown(next.config[key]),
        origin: next.origins[key],
      };
    });
  return {
    applied: changes.filter(({ key }) => specOf(key).isLive === true),
    needsRestart: changes.filter(({ key }) => specOf(key).isLive !== true),
  };
}

/** Stands for the value of a secret wherever settings are shown. */
export const mask = '********';

/** The same members, each read from what is current. */
function viewOf<T extends object>(shape: T, current: () => T): T {
  const view = {};
  for (const name of Object.keys(shape) as (keyof T)[])
    Object.defineProperty(view, name, { enumerable: true, get: () => current()[name] });
  return view as T;
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
