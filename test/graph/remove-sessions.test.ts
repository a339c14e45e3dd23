import { describe, expect, it } from 'vitest';
import { parseJson, type JsonObject } from '#base';
import type { GroupPart } from '#graph';
import { cutGroups, foldLogs, recordOf } from '../support/graph-fixtures.ts';
import { makeWorkload } from '../support/workload.ts';
import { goldenBodies, withoutDuplicates } from '../handlers/sample-events.ts';
import { openInProcessGraph } from './in-process-graph.ts';

function partsOf(path: string): readonly GroupPart[] {
  return foldLogs(withoutDuplicates(goldenBodies(path).map(recordOf)));
}

/** Sessions of real agents, and made ones that fork, spawn and name each other. */
const inputs: readonly (readonly [name: string, parts: () => readonly GroupPart[]])[] = [
  ['made-every-claimed-event', () => partsOf('golden/made-every-claimed-event.ndjson')],
  ['nested delegation', () => partsOf('amplifier/made-nested-delegation-two-parallel.ndjson')],
  ['a recorded turn', () => partsOf('amplifier/danshapiro-freshell-normal-turn.jsonl')],
  [
    'a generated workload',
    () =>
      foldLogs(
        makeWorkload({ seed: 3, sessions: 8, turns: 3, eventsPerBatch: 100 })
          .flatMap(({ bodies }) => bodies)
          .map((body) => recordOf(parseJson(body) as JsonObject)),
      ),
  ],
];

function exportOf(parts: readonly GroupPart[], removed: readonly GroupPart[] = []): string {
  const graph = openInProcessGraph();
  try {
    for (const group of cutGroups(parts, { keys: 3, steps: 7 })) graph.apply(group);
    if (removed.length > 0) graph.remove(removed);
    return graph.export();
  } finally {
    graph.close();
  }
}

const without = (parts: readonly GroupPart[], some: readonly GroupPart[]): readonly GroupPart[] =>
  parts.filter((part) => !some.includes(part));

describe('taking sessions out of the graph', () => {
  for (const [name, make] of inputs) {
    const parts = make();
    for (const part of parts)
      it(`leaves the graph of the others, as if it had never been posted: ${part.session} of ${name} (P12)`, () => {
        expect(exportOf(parts, [part])).toBe(exportOf(without(parts, [part])));
      });

    it(`leaves nothing once all of ${name} are gone`, () => {
      expect(exportOf(parts, parts)).toBe('');
    });

    it(`gives the same graph in one step or in several, and once they are posted again: ${name} (P5)`, () => {
      const [first, second = first] = parts;
      if (first === undefined || second === undefined) throw new Error('there is no session');
      const graph = openInProcessGraph();
      try {
        graph.apply(parts);
        const whole = graph.export();
        graph.remove([first]);
        graph.remove([second]);
        expect(graph.remove([second])).toBe(0);
        expect(graph.export()).toBe(exportOf(parts, [first, second]));
        graph.apply([...new Set([second, first])]);
        expect(graph.export()).toBe(whole);
      } finally {
        graph.close();
      }
    });
  }
});
