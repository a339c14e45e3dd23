import { Value } from 'typebox/value';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import {
  configJsonSchema,
  configKeyNames,
  configTemplate,
  isConfigKey,
  loadConfig,
  specOf,
} from '#config';

const schema = configJsonSchema();
const fits = (value: unknown): boolean => Value.Check(schema as never, value);
const file = (text: string): Parameters<typeof loadConfig>[0] => ({
  file: { path: 'millrace.yaml', text },
});

/** Lines of the commented file that hold a key. */
const keyLines = configTemplate()
  .split('\n')
  .filter((line) => /^# [a-z_.0-9]+: /.test(line))
  .filter((line) => isConfigKey(line.slice(2).split(':')[0] ?? ''));

describe('the commented file', () => {
  it('has every key once, and changes nothing as it is', () => {
    expect(keyLines.map((line) => line.slice(2).split(':')[0])).toEqual([...configKeyNames]);
    const { config, origins } = loadConfig(file(configTemplate()));
    expect(config).toEqual(loadConfig({}).config);
    expect(new Set(Object.values(origins))).toEqual(new Set(['default']));
  });

  it('can be uncommented line by line, each with the meaning of its default', () => {
    for (const line of keyLines) {
      const text = line.slice(2);
      const key = text.split(':')[0] as (typeof configKeyNames)[number];
      const { config, origins } = loadConfig(file(text));
      expect(origins[key]).toBe('millrace.yaml:1');
      if (specOf(key).default !== null) expect(config[key]).toEqual(loadConfig({}).config[key]);
      expect(fits(parse(text)), text).toBe(true);
    }
  });

  it('has a help text for each key that fits a terminal', () => {
    for (const line of configTemplate().split('\n')) expect(line.length).toBeLessThanOrEqual(120);
    for (const key of configKeyNames)
      expect(configTemplate().replaceAll('\n## ', ' ')).toContain(specOf(key).help);
  });
});

describe('the JSON schema', () => {
  it('takes both ways to write a key, and refuses unknown keys and wrong values', () => {
    expect(fits({ queue: { fsync: 'none' }, 'log.level': 'warn' })).toBe(true);
    expect(fits({ queue: { fsnc: 'none' } })).toBe(false);
    expect(fits({ 'queue.fsnc': 'none' })).toBe(false);
    expect(fits({ queue: { fsync: 'often' } })).toBe(false);
    expect(fits({ queue: { segment_bytes: 'lots' } })).toBe(false);
    expect(fits({ drain: { max_batch_records: 0 } })).toBe(false);
  });

  it('agrees with the loader on sizes and durations', () => {
    const texts = [
      '1',
      '1.5GiB',
      '10 MB',
      '5s',
      '250ms',
      '2min',
      '1x',
      '',
      'MiB',
      '3d',
      '1k',
      '-1',
    ];
    for (const text of texts)
      for (const key of ['queue.max_bytes', 'lock.warn_ms'] as const) {
        const flags = { [key]: text, 'queue.max_bytes_per_key': '1' };
        let isTaken = true;
        try {
          loadConfig({ flags });
        } catch {
          isTaken = false;
        }
        expect(fits({ [key]: text }), `${key} ${text}`).toBe(isTaken);
      }
  });
});
