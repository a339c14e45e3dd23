import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson, type JsonObject } from '#base';
import { checkGraph, checkMutations, type GroupPart } from '#graph';
import { cutGroups, foldLogs, recordOf } from '../support/graph-fixtures.ts';
import { openMemoryGraph } from '../support/memory-graph.ts';
import { makeWorkload } from '../support/workload.ts';
import { permit } from '../contract/graph/harness.ts';
import { goldenBodies, withoutDuplicates } from '../handlers/sample-events.ts';
import { openInProcessGraph } from './in-process-graph.ts';
import { logs, moves, schedule } from './interleavings.ts';

type Groups = readonly (readonly GroupPart[])[];

function exportAfter(groups: Groups, replay: readonly GroupPart[] = []): string {
  const graph = openInProcessGraph();
  try {
    for (const group of groups) graph.apply(group);
    if (replay.length > 0) {
      graph.forgetRows(replay.map(({ key }) => key));
      for (const part of replay) graph.apply([part]);
    }
    return graph.export();
  } finally {
    graph.close();
  }
}

async function memoryExportAfter(groups: Groups): Promise<string> {
  const graph = openMemoryGraph();
  for (const group of groups) await graph.apply(permit, group);
  const chunks: Uint8Array[] = [];
  for await (const chunk of graph.export()) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
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

function partsOf(path: string): readonly GroupPart[] {
  return foldLogs(withoutDuplicates(goldenBodies(path).map(recordOf)));
}

describe('confluence', () => {
  it('gives one graph for any interleaving of keys, any group borders and anything sent again (P5, P12, ING-614)', () => {
    fc.assert(
      fc.property(logs, moves, (all, taken) => {
        for (const { session, steps } of all)
          for (const { mutations } of steps) checkMutations(session, mutations);
        expect(exportAfter(schedule(all, taken))).toBe(exportAfter(all.map((part) => [part])));
      }),
      { numRuns: 300 },
    );
  });

  it('gives the same graph when all of it is applied again from the start (P5)', () => {
    fc.assert(
      fc.property(logs, moves, (all, taken) => {
        const groups = schedule(all, taken);
        expect(exportAfter(groups, all)).toBe(exportAfter(groups));
      }),
      { numRuns: 150 },
    );
  });

  it('gives the same bytes from two stores that share only the rules (D9)', async () => {
    await fc.assert(
      fc.asyncProperty(logs, moves, async (all, taken) => {
        const groups = schedule(all, taken);
        expect(await memoryExportAfter(groups)).toBe(exportAfter(groups));
      }),
      { numRuns: 150 },
    );
  });

  for (const [name, make] of inputs) {
    it(`gives one graph without findings for any cut of ${name} (P12, ING-606)`, async () => {
      const all = make();
      const whole = exportAfter([all]);
      for (const size of [
        { keys: 1, steps: 1 },
        { keys: 2, steps: 3 },
        { keys: 3, steps: 50 },
      ]) {
        expect(exportAfter(cutGroups(all, size))).toBe(whole);
        expect(exportAfter(cutGroups(all.toReversed(), size), all)).toBe(whole);
      }
      expect(await memoryExportAfter([all])).toBe(whole);
      const bytes = Buffer.from(whole);
      expect(
        await checkGraph({
          export: async function* () {
            yield bytes;
          },
        }),
      ).toEqual([]);
    });
  }
});
