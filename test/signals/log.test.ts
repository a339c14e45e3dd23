import { afterEach, describe, expect, it } from 'vitest';
import {
  applyRetried,
  daemonChanged,
  daemonNoticed,
  groupApplied,
  journalFailed,
  keyQuarantined,
  opsAudited,
  recovered,
  startLog,
  type LogLevel,
} from '#signals';

interface Line {
  readonly level: string;
  readonly event: string;
  readonly message: string;
  readonly [member: string]: unknown;
}

let stop = (): void => undefined;
afterEach(() => stop());

function collect(level: LogLevel): Line[] {
  const lines: Line[] = [];
  stop = startLog({ level, stream: { write: (text) => lines.push(JSON.parse(text) as Line) } });
  return lines;
}

const retried = { class: 'retry', code: 'GRAPH_UNAVAILABLE', message: 'away', delayMs: 100 };

describe('log', () => {
  it('writes one JSON line with a stable event per change of state', () => {
    const lines = collect('info');
    daemonChanged.publish(() => ({ state: 'ready', detail: 'listening' }));
    keyQuarantined.publish(() => ({ key: 'k', code: 'OFFSET_CORRUPT', message: 'damaged' }));
    daemonNoticed.publish(() => ({ code: 'FENCE_STALE', message: 'raised' }));
    expect(lines.map(({ level, event, message }) => `${level} ${event} ${message}`)).toEqual([
      'info daemon_ready listening',
      'error key_quarantined damaged',
      'warn notice raised',
    ]);
    expect(lines[0]?.['time']).toMatch(/^\d{4}-\d\d-\d\dT/);
  });

  it('warns when a recovery had to cut or keep damaged bytes (P7)', () => {
    const lines = collect('info');
    const message = { frames: 3, keys: 2, tornBytes: 0, damagedRanges: 0, durationMs: 5 };
    recovered.publish(() => message);
    recovered.publish(() => ({ ...message, tornBytes: 17 }));
    expect(lines.map(({ level }) => level)).toEqual(['info', 'warn']);
  });

  it('keeps an audit line of each operator act (ING-916)', () => {
    const lines = collect('info');
    const input = { session: 's1' };
    opsAudited.publish(() => ({
      operation_id: 'op-1',
      verb: 'dead discard',
      principal: 'ops',
      input,
      outcome: 'done',
      count: 2,
    }));
    expect(lines[0]).toMatchObject({
      event: 'audit',
      principal: 'ops',
      input,
      outcome: 'done',
      count: 2,
    });
  });

  it('limits repeats: a long outage is a few lines', () => {
    const lines = collect('info');
    for (let attempt = 1; attempt <= 100; attempt++)
      applyRetried.publish(() => ({ ...retried, attempt }));
    expect(lines.map((line) => line['attempt'])).toEqual([1, 2, 4, 8, 16, 32, 64]);
  });

  it('says of a disk that fails for an hour what it says in a dozen lines, the first at once (QFS-31)', () => {
    const lines = collect('info');
    for (let attempt = 1; attempt <= 1800; attempt++)
      journalFailed.publish(() => ({ segment: 'x', code: 'Q', message: 'full', attempt }));
    expect(lines).toHaveLength(11);
    expect(lines[0]).toMatchObject({ event: 'journal_failed', attempt: 1, message: 'full' });
  });

  it('shows what happens per batch at debug only', () => {
    const applied = { keys: 1, records: 2, mutations: 3, durationMs: 4 };
    const quiet = collect('info');
    groupApplied.publish(() => applied);
    expect(quiet).toEqual([]);
    stop();
    const loud = collect('debug');
    groupApplied.publish(() => applied);
    expect(loud[0]).toMatchObject({ level: 'debug', event: 'group_applied', records: 2 });
  });

  it('masks what would be a secret, should one ever come (ING-018)', () => {
    const lines = collect('debug');
    groupApplied.publish(() => ({
      keys: 1,
      records: 1,
      mutations: 1,
      durationMs: 1,
      token: 'canary-1',
      deep: { authorization: 'canary-2' },
    }));
    expect(lines).toHaveLength(1);
    expect(JSON.stringify(lines)).not.toContain('canary');
  });

  it('is silent after its end', () => {
    const lines = collect('info');
    stop();
    daemonChanged.publish(() => ({ state: 'ready', detail: 'x' }));
    expect(lines).toEqual([]);
  });
});
