import type { ConfigProblem } from './errors.ts';
import type { Config, ConfigKey } from './schema.ts';

/** Pairs of which the first must not be above the second, and why. */
const ordered: readonly (readonly [ConfigKey, ConfigKey, string])[] = [
  ['queue.max_bytes_per_key', 'queue.max_bytes', 'one session could fill more than all may'],
  ['ingest.max_event_bytes', 'ingest.max_batch_bytes', 'the largest event would fit in no request'],
  ['drain.max_batch_records', 'drain.group_max_records', 'a batch would fit in no group'],
  ['supervisor.backoff_ms', 'supervisor.backoff_max_ms', 'the first wait would be the longest'],
];

/** Settings that are fine alone and wrong together. */
export function contradictionsOf(config: Config): readonly ConfigProblem[] {
  return ordered
    .filter(([low, high]) => Number(config[low]) > Number(config[high]))
    .map(([low, high, why]) => ({
      key: low,
      origin: 'together',
      problem: `is ${String(config[low])}, above ${high} (${String(config[high])}): ${why}`,
    }));
}
