import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatBytes, isMillraceError } from '#base';
import {
  configKeyNames,
  effectiveConfig,
  environmentName,
  loadConfig,
  readEnvironment,
  specOf,
  type ConfigProblem,
  type ConfigSources,
} from '#config';

const path = '/etc/millrace.yaml';

function problemsOf(sources: ConfigSources): readonly ConfigProblem[] {
  try {
    loadConfig(sources);
  } catch (error) {
    if (isMillraceError(error) && error.code === 'CONFIG_INVALID')
      return error.details['problems'] as readonly ConfigProblem[];
    throw error;
  }
  return [];
}

describe('loading the configuration', () => {
  it('has a default that is valid for every key', () => {
    const { config, origins } = loadConfig({});
    expect(config['http.listen']).toBe('127.0.0.1:7117');
    expect(config['queue.segment_bytes']).toBe(64 * 2 ** 20);
    expect(config['supervisor.backoff_max_ms']).toBe(30_000);
    expect(config['queue.reserve_bytes']).toBeNull();
    expect(config['http.allowed_hosts']).toEqual([]);
    expect(new Set(Object.values(origins))).toEqual(new Set(['default']));
  });

  it('lets flags win over environment, environment over file, file over default', () => {
    const file = {
      path,
      text: 'queue:\n  segment_bytes: 1MiB\n  max_bytes: 1GiB\nlog.level: warn\n',
    };
    const environment = { MILLRACE_QUEUE__SEGMENT_BYTES: '2MiB', MILLRACE_LOG__LEVEL: 'error' };
    const flags = { 'queue.segment_bytes': '3MiB' };
    const { config, origins } = loadConfig({ file, environment, flags });
    expect(config['queue.segment_bytes']).toBe(3 * 2 ** 20);
    expect(origins['queue.segment_bytes']).toBe('command line');
    expect(config['log.level']).toBe('error');
    expect(origins['log.level']).toBe('MILLRACE_LOG__LEVEL');
    expect(config['queue.max_bytes']).toBe(2 ** 30);
    expect(origins['queue.max_bytes']).toBe(`${path}:3`);
  });

  it('lists every problem at once, each with its origin, and suggests the near name (ING-931)', () => {
    const problems = problemsOf({
      file: { path, text: 'queue:\n  fsnc: none\n  segment_bytes: lots\nunheard_of: 1\n' },
      environment: { MILLRACE_LOG_LEVEL: 'info', MILLRACE_HTTP__LISTEN: 'nowhere' },
      flags: { 'drain.max_batch_records': '0' },
    });
    expect(problems.map(({ key, origin }) => `${key} ${origin}`)).toEqual([
      `queue.fsnc ${path}:2`,
      `unheard_of ${path}:4`,
      'MILLRACE_LOG_LEVEL environment',
      'http.listen MILLRACE_HTTP__LISTEN',
      `queue.segment_bytes ${path}:3`,
      'drain.max_batch_records command line',
    ]);
    expect(problems[0]?.problem).toContain('queue.fsync');
    expect(problems[2]?.problem).toContain('MILLRACE_LOG__LEVEL');
    expect(problems[1]?.problem).not.toContain('did you mean');
  });

  it.each([
    ['MILLRACE_LISTEN', 'MILLRACE_HTTP__LISTEN'],
    ['MILLRACE_NEO4J_URL', 'MILLRACE_GRAPH__NEO4J__URL'],
    ['MILLRACE_ROTO', 'MILLRACE_ROOT'],
  ])('suggests for %s the setting or variable that it must have meant', (name, meant) => {
    const [problem] = problemsOf({ environment: { [name]: 'x' } });
    expect(problem?.problem).toBe(`is no setting; did you mean ${meant}?`);
  });

  it('refuses settings that contradict one another', () => {
    const flags = { 'queue.max_bytes_per_key': '9GiB', 'ingest.max_event_bytes': '65MiB' };
    expect(problemsOf({ flags }).map(({ key }) => key)).toEqual([
      'queue.max_bytes_per_key',
      'ingest.max_event_bytes',
    ]);
  });

  it('refuses a file that is no mapping, is broken, repeats a key or leaves one empty', () => {
    for (const text of [
      '- a\n',
      'queue: {',
      'a: 1\na: 2\n',
      'queue:\n  fsync:\n',
      'queue.fsync: none\nqueue:\n  fsync: none\n',
    ])
      expect(problemsOf({ file: { path, text } }), text).not.toEqual([]);
    expect(problemsOf({ file: { path, text: '' } })).toEqual([]);
  });

  it('reads lists from a sequence and from commas alike', () => {
    const fromFile = loadConfig({
      file: { path, text: 'http:\n  allowed_hosts: [a.example, b.example]\n' },
    });
    const fromFlag = loadConfig({ flags: { 'http.allowed_hosts': 'a.example, b.example' } });
    expect(fromFile.config['http.allowed_hosts']).toEqual(['a.example', 'b.example']);
    expect(fromFlag.config).toEqual(fromFile.config);
  });

  it('takes any size and duration as it prints them', () => {
    fc.assert(
      fc.property(fc.integer({ min: 65_536, max: 2 ** 40 }), (bytes) => {
        const { config } = loadConfig({ flags: { 'queue.segment_bytes': String(bytes) } });
        expect(config['queue.segment_bytes']).toBe(bytes);
      }),
    );
    const mib = loadConfig({ flags: { 'queue.segment_bytes': formatBytes(2 ** 21) } });
    expect(mib.config['queue.segment_bytes']).toBe(2 ** 21);
    for (const [text, ms] of [
      ['250ms', 250],
      ['1.5s', 1500],
      ['2min', 120_000],
      ['1h', 3_600_000],
      ['42', 42],
    ])
      expect(loadConfig({ flags: { 'lock.warn_ms': String(text) } }).config['lock.warn_ms']).toBe(
        ms,
      );
  });

  it('never fails in any other way than by naming the problem', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom(...configKeyNames), (text, key) => {
        problemsOf({ flags: { [key]: text }, file: { path, text } });
      }),
    );
  });
});

describe('the effective configuration', () => {
  it('names value, origin and variable of every key', () => {
    const settings = effectiveConfig(loadConfig({ flags: { 'log.level': 'debug' } }));
    expect(settings.map(({ key }) => key)).toEqual([...configKeyNames]);
    expect(settings.find(({ key }) => key === 'log.level')).toMatchObject({
      value: 'debug',
      origin: 'command line',
      variable: 'MILLRACE_LOG__LEVEL',
    });
  });

  it('has a unit in the name of each number, and a help text without an end mark', () => {
    for (const key of configKeyNames) {
      const { kind, help } = specOf(key);
      if (kind === 'size') expect(key).toMatch(/_bytes/);
      // A retention is a span of days and has its name from the specification (ING-713).
      if (kind === 'duration') expect(key).toMatch(/_ms$|\.retention$|\.max_age$/);
      expect(help).toMatch(/[^.]$/);
      expect(environmentName(key)).toMatch(/^MILLRACE_[A-Z0-9_]+$/);
    }
  });
});

describe('the environment', () => {
  it('keeps what is no setting apart, and an empty root as set (ROOT-23)', () => {
    const environment = readEnvironment({
      HOME: '/home/a',
      MILLRACE_ROOT: '',
      MILLRACE_URL: 'http://h:1',
      MILLRACE_TOKEN: 'secret',
      MILLRACE_FAILPOINTS: 'x=crash',
      MILLRACE_LOG__LEVEL: 'warn',
      OTHER: '1',
    });
    expect(environment).toEqual({
      root: '',
      url: 'http://h:1',
      token: 'secret',
      failpoints: 'x=crash',
      home: '/home/a',
      configHome: '/home/a/.config',
      configFile: '/home/a/.config/millrace/millrace.yaml',
      defaultRoot: '/home/a/.local/share/millrace/store',
      settings: { MILLRACE_LOG__LEVEL: 'warn' },
    });
  });

  it('follows the XDG folders', () => {
    const environment = readEnvironment({ XDG_CONFIG_HOME: '/c', XDG_DATA_HOME: '/d' });
    expect(environment.configFile).toBe('/c/millrace/millrace.yaml');
    expect(environment.defaultRoot).toBe('/d/millrace/store');
  });
});
