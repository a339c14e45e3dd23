import { describe, expect, it } from 'vitest';
import type { GroupPart } from '#graph';
import { foldLogs, recordOf } from '../support/graph-fixtures.ts';
import { openInProcessGraph } from './in-process-graph.ts';

function partOf(session: string, day: string, prompts: readonly string[]): readonly GroupPart[] {
  const events = ['session:start', ...prompts.map(() => 'prompt:submit')].map((event, n) =>
    recordOf({
      event,
      workspace: 'w',
      data: {
        session_id: session,
        timestamp: `${day}T10:00:0${n}Z`,
        ...(n === 0 ? {} : { prompt: prompts[n - 1] ?? '' }),
      },
    }),
  );
  return foldLogs(events);
}

const large = (text: string): string => text.repeat(40_000);

describe('what the graph says of bytes and age', () => {
  it('tells of a large value when the last session that names it had its last event', () => {
    const graph = openInProcessGraph();
    try {
      const [own, shared] = [large('o'), large('s')];
      graph.apply(partOf('old', '2024-02-03', [own, shared]));
      graph.apply(partOf('new', '2025-02-03', [shared]));
      const objects = graph.survey('w', 'old').objects;
      expect(objects).toHaveLength(2);
      const [again = ''] = graph.survey('w', 'new').objects;
      const until = graph.namedUntil([...objects, 'f'.repeat(64)]);
      expect(until.get(again)?.slice(0, 10)).toBe('2025-02-03');
      const alone = objects.find((one) => one !== again) ?? '';
      expect(until.get(alone)?.slice(0, 10)).toBe('2024-02-03');
      expect(until.size).toBe(2);
    } finally {
      graph.close();
    }
  });

  it('measures sessions so that the file gets about as much free as was told', () => {
    const graph = openInProcessGraph();
    try {
      const names = Array.from({ length: 40 }, (_, n) => `s${n}`);
      for (const session of names)
        graph.apply(
          partOf(
            session,
            '2025-01-01',
            Array.from({ length: 9 }, () => 'p'.repeat(900)),
          ),
        );
      const before = graph.usedBytes();
      const told = names
        .slice(0, 20)
        .reduce((sum, session) => sum + graph.survey('w', session).bytes, 0);
      const parts = names.slice(0, 20).flatMap((session) => partOf(session, '2025-01-01', []));
      graph.remove(parts);
      const freed = before - graph.usedBytes();
      expect(freed / told).toBeGreaterThan(0.6);
      expect(freed / told).toBeLessThan(1.7);
    } finally {
      graph.close();
    }
  });
});
