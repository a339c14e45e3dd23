import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { foreignEntry, parseDaemonFile, resolveRoot } from '#roots';

const platformDefault = '/home/a/.local/share/millrace/store';

describe('choosing a root', () => {
  it('lets the first source that is set decide alone (ROOT-21)', () => {
    expect(resolveRoot({ flag: '/f', environment: '/e', platformDefault })).toEqual({
      path: '/f',
      source: 'cli',
    });
    expect(resolveRoot({ environment: '/e', platformDefault }).source).toBe('env');
    expect(resolveRoot({ platformDefault }).path).toBe(platformDefault);
  });

  it('takes an empty source for set and invalid, never for absent (ROOT-23)', () => {
    for (const selectors of [{ flag: '' }, { environment: ' ' }, { flag: 'a\0b' }])
      expect(() => resolveRoot({ ...selectors, platformDefault })).toThrow(
        expect.objectContaining({ code: 'ROOT_INVALID' }),
      );
  });

  it('makes paths absolute and expands the home folder once', () => {
    expect(resolveRoot({ flag: 'a/../b', platformDefault }).path).toBe(join(process.cwd(), 'b'));
    expect(resolveRoot({ flag: '~/x', platformDefault }).path).toBe(join(homedir(), 'x'));
  });
});

describe('a folder without a marker', () => {
  it('counts as empty with what systems and interrupted starts leave in it (ROOT-83)', () => {
    expect(
      foreignEntry(['.DS_Store', '.maintenance', 'lost+found', 'root.json.1-ab-1.tmp']),
    ).toBeUndefined();
    expect(foreignEntry(['.DS_Store', 'queue'])).toBe('queue');
  });
});

describe('the hint of a serving daemon', () => {
  it('says nothing when it is damaged', () => {
    for (const text of ['', '{', '[]', '{"url":1,"pid":2,"started":"x"}', '{"url":"u"}'])
      expect(parseDaemonFile(Buffer.from(text))).toBeUndefined();
    const hint = { url: 'http://h:1', pid: 2, started: 's' };
    expect(parseDaemonFile(Buffer.from(JSON.stringify(hint)))).toEqual(hint);
  });
});
