import {
  configInvalid,
  createLiveConfig,
  effectiveConfig,
  reloadRefused,
  type ConfigProblem,
  type EffectiveSetting,
  type LoadedConfig,
  type ReloadReport,
} from '#config';

/** The settings of this process, and how they are read again. */
export interface Settings {
  /** Live keys are read anew at each look. */
  readonly loaded: LoadedConfig;
  effective(): readonly EffectiveSetting[];
  /** Reads file and environment again and puts what is live in force; all or nothing. CONFIG_RELOAD_REFUSED lists every problem. */
  reload(): ReloadReport;
}

export interface SettingsOptions {
  readonly loaded: LoadedConfig;
  /** Reads the sources again, as at the start; undefined where there are none. */
  readonly reread: (() => LoadedConfig) | undefined;
  /** Called after live settings have changed. */
  readonly onChanged: (report: ReloadReport) => void;
}

export function createSettings({ loaded, reread, onChanged }: SettingsOptions): Settings {
  const live = createLiveConfig(loaded);
  return {
    loaded: live.loaded,
    effective: () => effectiveConfig(live.loaded),
    reload() {
      const report = live.replace(readAgain(reread));
      onChanged(report);
      return report;
    },
  };
}

/** Settings of a root that is worked on without a daemon: nothing reloads them. */
export function fixedSettings(loaded: LoadedConfig): Settings {
  return createSettings({ loaded, reread: undefined, onChanged: () => undefined });
}

function readAgain(reread: (() => LoadedConfig) | undefined): LoadedConfig {
  const fail = (problems: readonly ConfigProblem[]): Error => reloadRefused({ problems });
  if (reread === undefined)
    throw fail([{ key: 'the file', origin: 'this process', problem: 'is not read by it' }]);
  try {
    return reread();
  } catch (error) {
    if (!configInvalid.is(error)) throw error;
    throw fail(error.details['problems'] as readonly ConfigProblem[]);
  }
}
