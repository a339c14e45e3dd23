import { describe, expect, it } from 'vitest';
import { sessionNodeId } from '#record';

interface Format {
  ago(text: string | null): string;
  plainText(text: string): string;
  bytes(value: number | null): string;
  count(value: number | null): string;
  duration(ms: number | null): string;
  timeOf(text: string | null): number;
}

interface Kinds {
  nameOf(node: { id: string; labels: readonly string[]; properties: object }): string;
}

interface Box {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

interface NameRoom {
  namesWithRoom(
    all: readonly { key: string; rank: number; name: Box; node: Box }[],
  ): ReadonlySet<string>;
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

const { ago, bytes, count, duration, plainText, timeOf } = await load<Format>('format');
const { nameOf } = await load<Kinds>('kinds');
const { namesWithRoom } = await load<NameRoom>('name-room');
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

  it('tell times that have passed in whole units', () => {
    const before = (ms: number) => ago(new Date(Date.now() - ms - 100).toISOString());
    expect([1000, 24_600, 90_000, 3_700_000, 3 * 86_400_000].map(before)).toEqual([
      'just now',
      '24 s ago',
      '1 min ago',
      '1 h ago',
      '3 d ago',
    ]);
    expect(ago(null)).toBe('–');
  });

  it('leave the colours of a terminal out', () => {
    expect(plainText('\u001b[31mError\u001b[0m: a[i]\n\tat b\u0007')).toBe('Error: a[i]\n\tat b');
  });

  it('tell nodes of one kind from each other', () => {
    const name = (labels: string, properties: object) =>
      nameOf({ id: 'p::x', labels: labels.split(' '), properties });
    const started_at = '2026-01-31T09:00:00.123456789Z';
    expect([
      name('Iteration', { iteration_number: 3, model: 'm' }),
      name('OrchestratorRun', { orchestrator_name: 'o', started_at }),
      name('Session SubSession', { session_id: 'p-sidechain-1', parent_id: 'p' }),
      name('Session', { session_id: 'p-1', parent_id: 'p', agent: 'explorer' }),
      name('Session', { session_id: '0f4c1f5e-6a51-4d0e-9a55-6f1d0c0a7b01' }),
      name('Orchestrator', {}),
    ]).toEqual([
      'iteration 3',
      expect.stringMatching(/^run \d\d:00:00$/),
      'sidechain-1',
      'explorer',
      'session 0f4c1f5e…',
      'x',
    ]);
  });

  it('leave out names that would cover another name or a node, the less telling ones first', () => {
    const at = (key: string, rank: number, x: number, y: number) => ({
      key,
      rank,
      node: { x1: x - 5, x2: x + 5, y1: y - 5, y2: y + 5 },
      name: { x1: x - 30, x2: x + 30, y1: y + 6, y2: y + 18 },
    });
    const names = [at('event', 9, 0, 0), at('session', 0, 40, 0), at('far', 9, 200, 0)];
    expect([...namesWithRoom(names)].toSorted()).toEqual(['far', 'session']);
    const covered = [at('above', 0, 0, 0), at('below', 9, 0, 12)];
    expect([...namesWithRoom(covered)]).toEqual(['below']);
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
