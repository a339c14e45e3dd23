import type { LoadedConfig, Origin } from './load-config.ts';
import { mask } from './live-config.ts';
import { configKeyNames, environmentName, specOf, type ConfigKey } from './schema.ts';

export interface EffectiveSetting {
  readonly key: ConfigKey;
  /** Masked when it is a secret (ING-932). */
  readonly value: unknown;
  readonly origin: Origin;
  readonly variable: string;
  readonly help: string;
  /** A reload changes it in the running daemon. */
  readonly isLive: boolean;
}

/** Every key with the value in force and where it came from, for people and for the log; secrets masked. */
export function effectiveConfig({ config, origins }: LoadedConfig): readonly EffectiveSetting[] {
  return configKeyNames.map((key) => {
    const { isSecret, help, isLive = false } = specOf(key);
    return {
      key,
      value: isSecret === true && config[key] !== null ? mask : config[key],
      origin: origins[key],
      variable: environmentName(key),
      help,
      isLive,
    };
  });
}
