import { describe, expect, it } from 'vitest';
import { sessionNodeId } from '#record';

interface Format {
  bytes(value: number | null): string;
  count(value: number | null): string;
  duration(ms: number | null): string;
  timeOf(text: string | null): number;
}

interface SessionWords {
  sessionAddress(workspace: string, id: string, tab?: string): string;
  sessionNode(session: string): string;
  sessionOfNode(node: string): string;
}

/** Modules of the pages are plain JavaScript, which the compiler of the product does not read. */
async function load<T>(name: string): Promise<T> {
  return (await import(`../../console/${name}.js`)) as T;
}

const { bytes, count, duration, timeOf } = await load<Format>('format');
const { sessionAddress, sessionNode, sessionOfNode } = await load<SessionWords>('session-words');

describe('words of the console', () => {
  it('tell sizes and times as people read them', () => {
    expect([0, 1023, 1024, 1536, 5 * 2 ** 30].map(bytes)).toEqual([
      '0 B',
      '1,023 B',
      '1 KiB',
      '1.5 KiB',
      '5 GiB',
    ]);
    expect([0, 999, 1500, 61_000, 3_600_000 * 5, 86_400_000 * 3].map(duration)).toEqual([
      '0 ms',
      '999 ms',
      '1.5 s',
      '1 min 1 s',
      '5 h 0 min',
      '3 d 0 h',
    ]);
    expect([bytes(null), count(null), duration(null), duration(Number.NaN)]).toEqual([
      '–',
      '–',
      '–',
      '–',
    ]);
    expect(timeOf('2026-01-31T09:00:00.123456789Z')).toBe(Date.parse('2026-01-31T09:00:00.123Z'));
    expect(timeOf(null)).toBeNaN();
  });

  it.each(['plain', 'a::b', 'a:%b', 'agent', 'a__17__b', 'x\u0085y', ':::', 'ü/ö'])(
    'write the node id of the session %j as the fold does, and find the session again',
    (session) => {
      expect(sessionNode(session)).toBe(sessionNodeId(session));
      expect(sessionOfNode(sessionNode(session))).toBe(session);
    },
  );

  it('make addresses that take any id', () => {
    expect(sessionAddress('w/1', 'a?b#c')).toBe('#/session/w%2F1/a%3Fb%23c/timeline');
  });
});
