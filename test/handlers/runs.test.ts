import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fold, seedCursor } from '#handlers';
import { emptyCursor, type Cursor } from '#record';
import {
  bodies,
  edgesOf,
  foldSession,
  labelsOf,
  propertiesOf,
  timeOf,
  type EventSpec,
} from './folded.ts';
import { recordOf, spillBytes } from './sample-events.ts';

const run = (second: number, ending = ''): string => `s::orch_run::${timeOf(second)}${ending}`;
const placeholder = 's::orch_run::unresolved';

describe('run ids', () => {
  it('number the runs of one start time in log order, the first without a number (ING-602)', () => {
    const at = { timestamp: timeOf(0) };
    const folded = foldSession([
      ['execution:start', at],
      ['execution:start', at],
      ['execution:start', at],
    ]);
    expect(edgesOf(folded, 'HAS_EXECUTION')).toEqual([
      `s HAS_EXECUTION ${run(0)}`,
      `s HAS_EXECUTION ${run(0, '::2')}`,
      `s HAS_EXECUTION ${run(0, '::3')}`,
    ]);
  });

  it('are unique for any start times, and the same for any batch borders (ING-P07)', () => {
    const seconds = fc.array(fc.nat({ max: 300 }), { minLength: 1, maxLength: 400 });
    fc.assert(
      fc.property(seconds, (starts) => {
        const specs = starts.map((second): EventSpec => [
          'execution:start',
          { timestamp: timeOf(second) },
        ]);
        const ids = foldSession(specs).steps.map(({ mutations }) =>
          mutations.find(
            (mutation) => mutation.kind === 'node' && mutation.labels.includes('OrchestratorRun'),
          ),
        );
        expect(new Set(ids.map((node) => (node as { id: string }).id)).size).toBe(starts.length);
      }),
      { numRuns: 40 },
    );
  });
});

describe('two starts at one time (G12)', () => {
  const at = { timestamp: timeOf(0) };
  const events: readonly EventSpec[] = [
    ['execution:start', at],
    ['provider:request', at],
    ['content_block:start', at],
    ['execution:start', at],
    ['provider:request', at],
    ['content_block:start', at],
  ];

  /** Iterations under each run, when the fold starts from the stored cursor before every record. */
  const iterationsByRun = (change: (folded: string) => string): readonly number[] => {
    const owners = new Map<string, number>();
    let stored = JSON.stringify(emptyCursor());
    for (const body of bodies('s', events)) {
      const folded = fold(JSON.parse(stored) as Cursor, recordOf(body), { spillBytes });
      stored = JSON.stringify(folded.cursor);
      for (const mutation of JSON.parse(
        change(JSON.stringify(folded.mutations)),
      ) as typeof folded.mutations) {
        if (
          mutation.kind !== 'edge' ||
          mutation.type !== 'HAS_PART' ||
          !mutation.to.labels.includes('Iteration')
        )
          continue;
        owners.set(mutation.from.id, (owners.get(mutation.from.id) ?? 0) + 1);
      }
    }
    return [...owners.values()];
  };

  it('keep their iterations apart, whatever crashes between (ING-T12)', () => {
    expect(iterationsByRun((folded) => folded)).toEqual([1, 1]);
  });

  it('would not, were run ids without their number', () => {
    expect(iterationsByRun((folded) => folded.replaceAll('000Z::2', '000Z'))).toEqual([2]);
  });
});

describe('runs', () => {
  it('chain turn by turn: prompt TRIGGERS run ENABLES prompt', () => {
    const turn: readonly EventSpec[] = [
      ['prompt:submit'],
      ['execution:start'],
      ['execution:end'],
      ['orchestrator:complete'],
    ];
    const folded = foldSession([...turn, ...turn, ...turn]);
    expect(edgesOf(folded, 'TRIGGERS')).toHaveLength(3);
    expect(edgesOf(folded, 'ENABLES')).toEqual([
      `${run(1)} ENABLES s::prompt::${timeOf(4)}`,
      `${run(5)} ENABLES s::prompt::${timeOf(8)}`,
    ]);
  });

  it('may be named by their client, and are found by that name in any order and after their end (B80)', () => {
    const named = { run_name: 'turn-1' };
    const folded = foldSession([
      ['execution:start', named],
      ['orchestrator:complete', named],
      ['execution:start', { run_name: 'turn-2' }],
      ['provider:request', named],
      ['execution:end', { ...named, status: 'success' }],
    ]);
    const run1 = 's::orch_run::turn-1';
    expect(edgesOf(folded, 'HAS_EXECUTION')).toEqual([
      `s HAS_EXECUTION ${run1}`,
      's HAS_EXECUTION s::orch_run::turn-2',
    ]);
    expect(edgesOf(folded, 'HAS_PART')).toEqual([`${run1} HAS_PART s::iteration::1`]);
    expect(propertiesOf(folded, run1)['status']).toBe('success');
  });

  it('are not named by what could be no name, nor by that of the placeholder (ING-604)', () => {
    for (const run_name of ['a::b', 'unresolved', '']) {
      const folded = foldSession([['execution:start', { run_name }]]);
      expect([run_name, edgesOf(folded, 'HAS_EXECUTION')]).toEqual([
        run_name,
        [`s HAS_EXECUTION ${run(0)}`],
      ]);
    }
  });

  it('without a prompt of their own do not hang on an old one, nor on an old iteration (PG-23)', () => {
    const folded = foldSession([
      ['prompt:submit'],
      ['execution:start'],
      ['provider:request'],
      ['orchestrator:complete'],
      ['execution:start'],
      ['tool:pre', { tool_call_id: 't' }],
    ]);
    expect(edgesOf(folded, 'TRIGGERS')).toHaveLength(1);
    expect(edgesOf(folded, 'HAS_TOOL_CALL')).toEqual([]);
  });

  it('are ended by the innermost open one first, and the outer one is active again (ING-608)', () => {
    const folded = foldSession([
      ['execution:start'],
      ['execution:start'],
      ['execution:end', { status: 'inner' }],
      ['orchestrator:complete', { orchestrator: 'loop', turn_count: 2 }],
      ['provider:request'],
      ['execution:end', { status: 'outer', response: 'done' }],
    ]);
    expect(propertiesOf(folded, run(1))).toMatchObject({
      status: 'inner',
      turn_count: 2,
      orchestrator_name: 'loop',
    });
    expect(propertiesOf(folded, run(0))).toMatchObject({ status: 'outer', response: 'done' });
    expect(edgesOf(folded, 'HAS_PART')).toEqual([`${run(0)} HAS_PART s::iteration::1`]);
  });

  it('of a cancelled turn do not take what the next turn does', () => {
    const folded = foldSession([
      ['prompt:submit'],
      ['execution:start'],
      ['prompt:submit'],
      ['execution:start'],
      ['orchestrator:complete'],
      ['provider:request'],
    ]);
    expect(folded.cursor.layer2.open_runs).toEqual([]);
    expect(edgesOf(folded, 'HAS_PART')).toContain(`${placeholder} HAS_PART s::iteration::1`);
  });

  it('are found by a reference in the event before the cursor is asked (ING-604)', () => {
    const folded = foldSession([
      ['execution:start'],
      ['execution:start'],
      ['provider:request', { orch_run_id: run(0) }],
      ['orchestrator:complete', { run_id: run(0) }],
      ['provider:request', { run_id: 'run-7' }],
    ]);
    expect(edgesOf(folded, 'HAS_PART')).toEqual([
      `${run(0)} HAS_PART s::iteration::1`,
      `${run(1)} HAS_PART s::iteration::2`,
    ]);
    expect(propertiesOf(folded, run(0))).toHaveProperty('completed_at');
  });

  it('are derived again, with their number, from a partial cursor (ING-605)', () => {
    const layer2: Cursor['layer2'] = {
      ...emptyCursor().layer2,
      run_start_ts: timeOf(0),
      run_seq: 2,
    };
    const cursor: Cursor = { ...emptyCursor(), layer2 };
    const [body = {}] = bodies('s', [['provider:request']]);
    const { mutations } = fold(cursor, recordOf(body), { spillBytes });
    const part = mutations.find(
      (mutation) => mutation.kind === 'edge' && mutation.type === 'HAS_PART',
    );
    expect(part).toMatchObject({ from: { id: run(0, '::2') }, to: { id: 's::iteration::1' } });
  });

  it('are found again by a cursor that was seeded from the graph (ING-613)', () => {
    const [body = {}] = bodies('s', [['provider:request']]);
    const { mutations } = fold(seedCursor('s', run(0, '::3')), recordOf(body), { spillBytes });
    const part = mutations.find(
      (mutation) => mutation.kind === 'edge' && mutation.type === 'HAS_PART',
    );
    expect(part).toMatchObject({ from: { id: run(0, '::3') } });
    for (const foreign of [undefined, 'other::orch_run::x', placeholder])
      expect(seedCursor('s', foreign)).toEqual(emptyCursor());
  });

  it('that are not known leave their parts and ends to the placeholder (ING-604, ING-608)', () => {
    const folded = foldSession([
      ['provider:request'],
      ['execution:end', { status: 'ok' }],
      ['orchestrator:complete', { orchestrator: 'loop' }],
    ]);
    expect(propertiesOf(folded, placeholder)).toMatchObject({
      unresolved: true,
      status: 'ok',
      orchestrator_name: 'loop',
    });
    expect(labelsOf(folded, placeholder)).toEqual(['OrchestratorRun', 'SST_EVENT']);
    expect(edgesOf(folded, 'HAS_PART', 'HAS_EXECUTION')).toEqual(
      [`${placeholder} HAS_PART s::iteration::1`, `s HAS_EXECUTION ${placeholder}`].sort(),
    );
  });

  it('take their iterations from the placeholder when their start comes late (ING-607)', () => {
    const folded = foldSession([
      ['provider:request', { timestamp: timeOf(1) }],
      ['provider:request', { timestamp: timeOf(5) }],
      ['execution:start', { timestamp: timeOf(4) }],
      ['content_block:start', { timestamp: timeOf(6) }],
    ]);
    expect(edgesOf(folded, 'HAS_PART')).toEqual(
      [
        `${run(4)} HAS_PART s::iteration::2`,
        's::iteration::2 HAS_PART s::block::2::0',
        `${placeholder} HAS_PART s::iteration::1`,
      ].sort(),
    );
    const named = foldSession([['provider:request'], ['llm:request', { run_id: run(9) }]]);
    expect(edgesOf(named, 'HAS_PART')).toEqual([`${run(9)} HAS_PART s::iteration::1`]);
  });

  it('name their orchestrator by a concept of its own id space, unless it has no name (G8, G10)', () => {
    const folded = foldSession([
      ['execution:start'],
      ['orchestrator:complete', { orchestrator: 'loop' }],
      ['execution:start'],
      ['orchestrator:complete', { orchestrator: ' ' }],
    ]);
    expect(edgesOf(folded, 'HAS_ATTRIBUTE')).toEqual(['s HAS_ATTRIBUTE orchestrator::loop']);
    expect(labelsOf(folded, 'orchestrator::loop')).toEqual(['Orchestrator', 'SST_CONCEPT']);
  });
});

describe('iterations', () => {
  it('keep what the model used, under both names of each cache, and what it cost (G7, PG-24)', () => {
    const raw = {
      usage: { input_tokens: 1, cache_read_input_tokens: 5, cache_creation_input_tokens: 6 },
    };
    const usage = {
      input_tokens: 2,
      output_tokens: 3,
      cache_read_tokens: null,
      cache_write_tokens: 4,
      cost_usd: '0.47',
    };
    const folded = foldSession([
      ['provider:request'],
      ['llm:response', { usage, raw }],
      ['provider:request'],
      ['llm:response', { raw }],
    ]);
    expect(propertiesOf(folded, 's::iteration::1')).toMatchObject({
      usage_input: 2,
      usage_output: 3,
      usage_cache_write: 4,
      usage_cost_usd: '0.47',
    });
    expect(propertiesOf(folded, 's::iteration::2')).toMatchObject({
      usage_input: 1,
      usage_cache_read: 5,
      usage_cache_write: 6,
    });
  });

  it('of any stream have one owner each, and so have its blocks (ING-606)', () => {
    const event = fc.constantFrom(
      'execution:start',
      'execution:end',
      'orchestrator:complete',
      'provider:request',
      'llm:request',
      'content_block:start',
      'content_block:end',
      'prompt:submit',
      'session:end',
      'session:start',
    );
    const spec = fc.record({
      event,
      index: fc.option(fc.nat({ max: 2 })),
      second: fc.option(fc.nat({ max: 5 })),
    });
    fc.assert(
      fc.property(fc.array(spec, { maxLength: 40 }), (events) => {
        const folded = foldSession(
          events.map(({ event, index, second }): EventSpec => [
            event,
            { block_index: index, ...(second === null ? {} : { timestamp: timeOf(second) }) },
          ]),
        );
        for (const [id, { labels }] of folded.nodes) {
          if (!labels.has('Iteration') && !labels.has('ContentBlock')) continue;
          const owners = [...folded.edges.keys()].filter((key) =>
            key.endsWith(`\nHAS_PART\n${id}`),
          );
          expect([id, owners.length]).toEqual([id, 1]);
          const [owner = ''] = owners.map((key) => key.split('\n')[0] ?? '');
          const kind = labels.has('Iteration') ? /::orch_run::/ : /::(orch_run|iteration)::/;
          expect(owner).toMatch(kind);
        }
      }),
      { numRuns: 300 },
    );
  });
});
