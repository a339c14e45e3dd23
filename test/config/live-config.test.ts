import { describe, expect, it } from 'vitest';
import { configKeyNames, createLiveConfig, loadConfig, specOf } from '#config';

const path = '/etc/millrace.yaml';
const load = (text: string): ReturnType<typeof loadConfig> => loadConfig({ file: { path, text } });

describe('the settings of a running daemon', () => {
  it('take over what is live and name what waits for a restart', () => {
    const live = createLiveConfig(load('log.level: info\nqueue.max_bytes: 1GiB\n'));
    const { config } = live.loaded;
    const report = live.replace(load('log.level: debug\nqueue.fsync: none\n'));
    expect(report.applied).toEqual([
      { key: 'queue.max_bytes', from: 2 ** 30, to: 8 * 2 ** 30, origin: 'default' },
      { key: 'log.level', from: 'info', to: 'debug', origin: `${path}:1` },
    ]);
    expect(report.needsRestart).toEqual([
      { key: 'queue.fsync', from: 'group', to: 'none', origin: `${path}:2` },
    ]);
    expect(config['log.level']).toBe('debug');
    expect(config['queue.max_bytes']).toBe(8 * 2 ** 30);
    expect(config['queue.fsync']).toBe('group');
    expect(live.loaded.origins['queue.fsync']).toBe('default');
    expect(live.loaded.origins['log.level']).toBe(`${path}:1`);
  });

  it('name a waiting setting again at the next reload, until it is set back', () => {
    const live = createLiveConfig(load(''));
    for (const _ of [1, 2])
      expect(live.replace(load('queue.fsync: none\n')).needsRestart).toHaveLength(1);
    expect(live.replace(load(''))).toEqual({ applied: [], needsRestart: [] });
  });

  it('follow the place of a value that is the same', () => {
    const live = createLiveConfig(load('log.level: debug\n'));
    live.replace(load('\n\nlog.level: debug\n'));
    expect(live.loaded.origins['log.level']).toBe(`${path}:3`);
  });

  it('have live keys, and keys that are not', () => {
    const live = configKeyNames.filter((key) => specOf(key).isLive === true);
    expect(live).toContain('log.level');
    expect(live).not.toContain('http.listen');
    expect(live).not.toContain('queue.key_encoding');
  });
});
