import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { canonicalJson } from '#base';
import { fold, type Folded } from '#handlers';
import { emptyCursor, parseCursor, type Cursor, type Key, type LogRecord } from '#record';
import { timeOf } from './folded.ts';
import { ReferenceGraph } from './reference-graph.ts';
import { storedGraph } from './stored-graph.ts';
import { deepFreeze, foldAll, goldenBodies, recordOf, spillBytes } from './sample-events.ts';

const recorded: readonly LogRecord[] = [
  'golden/made-every-claimed-event.ndjson',
  'amplifier/made-nested-delegation-two-parallel.ndjson',
  'amplifier/danshapiro-freshell-steering-injection.jsonl',
]
  .flatMap((path) => goldenBodies(path))
  .map((body) => recordOf({ ...body, workspace: 'w' }));

const names = [
  'session:start',
  'session:fork',
  'session:end',
  'session:resume',
  'prompt:submit',
  'execution:start',
  'execution:end',
  'orchestrator:complete',
  'provider:request',
  'llm:request',
  'llm:response',
  'content_block:start',
  'content_block:end',
  'tool:pre',
  'tool:post',
  'tool:error',
  'cancel:completed',
  'context:pre_compact',
  'delegate:agent_spawned',
  'delegate:agent_spawned',
  'delegate:agent_resumed',
  'delegate:agent_completed',
  'skill:loaded',
  'skill:unloaded',
  'recipe:start',
  'recipe:step',
  'recipe:approval',
  'recipe:loop_iteration',
  'recipe:complete',
  'unknown-event:x',
];

/** Events of three sessions that name one another, with and without ids, times that repeat and go backwards. */
const generated: fc.Arbitrary<readonly LogRecord[]> = fc.array(
  fc
    .record({
      event: fc.constantFrom(...names),
      session: fc.constantFrom('a', 'b', 'c'),
      second: fc.nat({ max: 20 }),
      parent: fc.option(fc.constantFrom('a', 'b', 'c', 'p')),
      call: fc.option(fc.constantFrom('t1', 't2')),
      block: fc.option(fc.nat({ max: 2 })),
      id: fc.option(fc.uuid()),
      child: fc.constantFrom('a', 'b', 'c', 'd'),
      agent: fc.constantFrom('coder', 'self', 'self'),
    })
    .map(({ event, session, second, parent, call, block, id, child, agent }) => ({
      event,
      workspace: 'w',
      event_id: id,
      data: {
        session_id: session,
        timestamp: timeOf(second),
        parent_id: parent === session ? null : parent,
        parent_session_id: event === 'delegate:agent_spawned' ? session : parent,
        sub_session_id: child === session ? null : child,
        agent,
        skill_name: 'pdf',
        name: 'review',
        current_step: block,
        stage_name: 'ship',
        tool_call_id: call,
        parallel_group_id: call === null ? null : 'g',
        block_index: block,
        block: { type: 'tool_call', id: call },
        orchestrator: 'loop',
        usage: { input_tokens: second },
      },
    }))
    .map(recordOf),
  { maxLength: 60 },
);

const anyRecords = fc.oneof(fc.constant(recorded), generated);

/** Canonical text of what the reference graph holds. */
function graphText(steps: Iterable<Folded>): string {
  const graph = new ReferenceGraph();
  for (const { mutations } of steps) graph.apply(mutations);
  const { nodes, edges } = graph.read();
  const nodeLines = [...nodes].map(([id, { labels, properties }]) => [
    id,
    [...labels].sort(),
    Object.fromEntries(properties),
  ]);
  const edgeLines = [...edges].map(([key, properties]) => [key, Object.fromEntries(properties)]);
  return [...nodeLines, ...edgeLines]
    .map((line) => canonicalJson(line as never))
    .sort()
    .join('\n');
}

function foldInOrder(records: readonly LogRecord[]): readonly Folded[] {
  const steps: Folded[] = [];
  foldAll(records, (folded) => steps.push(folded));
  return steps;
}

describe('fold', () => {
  it('gives equal results from a frozen cursor at every attempt, and changes nothing it was handed (ING-P05, ING-503, ING-504)', () => {
    fc.assert(
      fc.property(anyRecords, (records) => {
        const cursors = new Map<Key, Cursor>();
        for (const record of records) {
          const cursor = deepFreeze(cursors.get(record.key) ?? emptyCursor());
          const attempts = [1, 2, 3].map(() => fold(cursor, deepFreeze(record), { spillBytes }));
          expect(attempts[1]).toEqual(attempts[0]);
          expect(JSON.stringify(attempts[2])).toBe(JSON.stringify(attempts[0]));
          cursors.set(record.key, attempts[0]?.cursor ?? cursor);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('leaves a cursor that is JSON and that the reader of offset records takes (ING-502)', () => {
    fc.assert(
      fc.property(anyRecords, (records) => {
        foldAll(records, ({ cursor }) => {
          const stored: unknown = JSON.parse(JSON.stringify(cursor));
          expect(stored).toEqual(cursor);
          expect(parseCursor(stored).fault).toBeUndefined();
        });
      }),
      { numRuns: 40 },
    );
  });

  it('makes one graph of any interleaving of the keys and any batch borders (ING-614, ING-P07, P12)', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(
        anyRecords,
        fc.infiniteStream(fc.nat()),
        sizes,
        async (records, choices, groups) => {
          const shuffled: LogRecord[] = [];
          let open = [...Map.groupBy(records, ({ key }) => key).values()].map((queue) => [
            ...queue,
          ]);
          for (; open.length > 0; open = open.filter((queue) => queue.length > 0)) {
            const queue = open[Number(choices.next().value) % open.length];
            const record = queue?.shift();
            if (record !== undefined) shuffled.push(record);
          }
          expect(shuffled).toHaveLength(records.length);
          const one = await storedGraph(records);
          const other = await storedGraph(shuffled, groups);
          expect(other.digest).toBe(one.digest);
          expect(one.findings).toEqual([]);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('makes one graph when records are delivered again from the cursor before them (P5, ING-501)', () => {
    fc.assert(
      fc.property(anyRecords, fc.nat(), (records, cut) => {
        const steps = foldInOrder(records);
        const again = cut % (records.length + 1);
        expect(graphText([...steps, ...steps.slice(again)])).toBe(graphText(steps));
      }),
      { numRuns: 40 },
    );
  });

  it('keeps nothing outside the cursor: handlers loaded anew between every two records make the same graph (ING-521)', async () => {
    const steps: Folded[] = [];
    const cursors = new Map<Key, Cursor>();
    for (const record of recorded.slice(0, 60)) {
      vi.resetModules();
      const handlers = await import('#handlers');
      const folded = handlers.fold(cursors.get(record.key) ?? emptyCursor(), record, {
        spillBytes,
      });
      cursors.set(record.key, folded.cursor);
      steps.push(folded);
    }
    expect(graphText(steps)).toBe(graphText(foldInOrder(recorded.slice(0, 60))));
  });

  it('leaves no trace of a record that was dropped (ING-538)', () => {
    fc.assert(
      fc.property(generated, fc.nat(), (records, at) => {
        fc.pre(records.length > 0);
        const dropped = records.filter((_, index) => index !== at % records.length);
        const [poison] = records.slice(at % records.length);
        const steps: Folded[] = [];
        const cursors = new Map<Key, Cursor>();
        for (const record of records) {
          const cursor = cursors.get(record.key) ?? emptyCursor();
          const folded = fold(cursor, record, { spillBytes });
          if (record === poison) continue;
          steps.push(folded);
          cursors.set(record.key, folded.cursor);
        }
        expect(graphText(steps)).toBe(graphText(foldInOrder(dropped)));
      }),
      { numRuns: 60 },
    );
  });

  it('speaks only of nodes of its own session, with valid labels and types (ING-615, ING-T12)', () => {
    fc.assert(
      fc.property(generated, (records) => {
        foldAll(records, ({ mutations }, { session }) => {
          for (const mutation of mutations) {
            if (mutation.kind === 'node') {
              expect(mutation.owner).toBe(session);
              expect(
                mutation.id === session ||
                  mutation.id.startsWith(`${session}::`) ||
                  mutation.id.startsWith(`${session}__`),
              ).toBe(true);
              for (const label of mutation.labels)
                expect(label).toMatch(/^[A-Za-z_][A-Za-z0-9_]*$/);
              expect(Object.values(mutation.properties)).not.toContain(null);
            } else if (mutation.kind === 'edge') expect(mutation.type).toMatch(/^[A-Z_]+$/);
          }
        });
      }),
      { numRuns: 40 },
    );
  });
});
