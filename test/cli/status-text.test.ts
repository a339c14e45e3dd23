import { expect, it } from 'vitest';
import { statusText } from '../../src/cli/verbs/status-text.ts';

it('tells people first what is wrong, in sentences, and sizes and times with their units', () => {
  const text = statusText({
    status: 'degraded',
    state: 'ready',
    accepted: 3,
    oldest_pending_ms: 192_000,
    backlog_bytes: 2048,
    degraded: [{ code: 'BACKLOG_OLD', message: 'it waits', since: '2026-01-01T00:00:00.000Z' }],
    disk: { path: '/a', free_bytes: 3 * 1024 ** 3 },
    storage: { queue: 1024, measured_at: '2026-01-01T00:00:00.000Z' },
    server_version: '1',
    uptime_seconds: 93_600.5,
  });
  expect(text.split('\n')).toEqual([
    'status  degraded',
    'state   ready',
    'degraded',
    '  BACKLOG_OLD since 2026-01-01T00:00:00.000Z',
    '    it waits',
    'accepted        3',
    'oldest_pending  3 min 12 s',
    'backlog         2 KiB',
    'disk',
    '  path  /a',
    '  free  3 GiB',
    'storage',
    '  queue        1 KiB',
    '  measured_at  2026-01-01T00:00:00.000Z',
    'uptime          1 d 2 h',
  ]);
});

it('says nothing of what is not wrong', () => {
  expect(statusText({ status: 'ok', state: 'ready', degraded: [], pending: 0 })).toBe(
    'status  ok\nstate   ready\npending  0',
  );
});
