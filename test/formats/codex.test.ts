import { describe, expect, it } from 'vitest';
import type { StoredGraph } from '../handlers/stored-graph.ts';
import { graphOf, sampleBytes, translateBytes, translateSample } from './translate-file.ts';

function countOf(graph: StoredGraph, label: string): number {
  return [...graph.nodes.values()].filter(({ labels }) => labels.has(label)).length;
}

type Item = readonly [type: string, payload: object];

function rows(...items: readonly Item[]): Buffer {
  const lines = items.map(([type, payload], at) => {
    const timestamp = `2026-07-20T09:00:${String(at).padStart(2, '0')}.000Z`;
    return JSON.stringify({ timestamp, type, payload });
  });
  return Buffer.from(`${lines.join('\n')}\n`);
}

async function graphOfRows(...items: readonly Item[]): Promise<StoredGraph> {
  return graphOf((await translateBytes(rows(...items))).records);
}

const meta = ['session_meta', { id: 's', cwd: '/w', model_provider: 'openai' }] as const;
const usage = { input_tokens: 100, cached_input_tokens: 20, output_tokens: 10 };

describe('Codex rollouts', () => {
  it('give turns, iterations, blocks and calls, each told once though two logs tell it', async () => {
    const graph = await graphOfRows(
      meta,
      ['turn_context', { model: 'gpt-x' }],
      ['event_msg', { type: 'task_started', turn_id: 'turn-1' }],
      [
        'response_item',
        {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_text', text: '<environment_context>x</environment_context>' }],
        },
      ],
      [
        'response_item',
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }] },
      ],
      ['event_msg', { type: 'user_message', message: 'go' }],
      ['response_item', { type: 'reasoning', summary: [] }],
      [
        'response_item',
        { type: 'function_call', name: 'shell', arguments: '{"path":"a.txt"}', call_id: 'c1' },
      ],
      [
        'event_msg',
        { type: 'token_count', info: { total_token_usage: usage, last_token_usage: usage } },
      ],
      [
        'event_msg',
        { type: 'token_count', info: { total_token_usage: usage, last_token_usage: usage } },
      ],
      ['event_msg', { type: 'exec_command_end', call_id: 'c1', exit_code: 1 }],
      [
        'response_item',
        {
          type: 'function_call_output',
          call_id: 'c1',
          output: '{"output":"bad","metadata":{"exit_code":1}}',
        },
      ],
      ['event_msg', { type: 'agent_message', message: 'done' }],
      [
        'response_item',
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'done' }] },
      ],
      ['event_msg', { type: 'task_complete', turn_id: 'turn-1', last_agent_message: 'done' }],
    );
    expect(graph.findings).toEqual([]);
    const counts = ['Prompt', 'OrchestratorRun', 'Iteration', 'ContentBlock', 'ToolCall'];
    expect(counts.map((label) => countOf(graph, label))).toEqual([1, 1, 2, 3, 1]);
    const call = graph.nodes.get('s::tool::c1')?.properties;
    expect(
      ['tool_name', 'file_path', 'result_success', 'result_output'].map((name) => call?.get(name)),
    ).toEqual(['shell', 'a.txt', false, 'bad']);
    const iteration = graph.nodes.get('s::iteration::1')?.properties;
    expect(
      ['model', 'usage_input', 'usage_cache_read'].map((name) => iteration?.get(name)),
    ).toEqual(['gpt-x', 100, 20]);
    const run = graph.nodes.get('s::orch_run::turn-1')?.properties;
    expect([run?.get('status'), run?.get('response')]).toEqual(['success', 'done']);
  });

  it('tell an aborted turn, and a prompt within a turn for what it is', async () => {
    const graph = await graphOfRows(
      meta,
      ['event_msg', { type: 'user_message', message: 'go' }],
      ['event_msg', { type: 'task_started', turn_id: 'a' }],
      ['event_msg', { type: 'user_message', message: 'faster' }],
      ['event_msg', { type: 'turn_aborted', turn_id: 'a', reason: 'interrupted' }],
    );
    expect(
      ['Prompt', 'OrchestratorSteeringInjectedEvent', 'Cancellation'].map((label) =>
        countOf(graph, label),
      ),
    ).toEqual([1, 1, 1]);
    expect(graph.nodes.get('s::orch_run::a')?.properties.get('status')).toBe('cancelled');
  });

  it('tie sub-agents to the call that spawned them, and forks to their origin', async () => {
    const graph = await graphOfRows(meta, [
      'event_msg',
      {
        type: 'collab_agent_spawn_end',
        call_id: 'c9',
        new_thread_id: 'child',
        new_agent_role: 'explorer',
      },
    ]);
    expect(graph.edges.has('s::delegation::c9\nENCOMPASSES\nchild')).toBe(true);
    const fork = await graphOfRows(['session_meta', { id: 'f', forked_from_id: 's' }], meta);
    expect([...fork.edges.keys()].filter((key) => key.includes('FORKED'))).toEqual([
      's\nFORKED\nf',
    ]);
    const sub = await graphOfRows(['session_meta', { id: 'child', parent_thread_id: 's' }]);
    expect(sub.nodes.get('child')?.labels.has('SubSession')).toBe(true);
  });

  it('of every version are read, bare items of old ones and rows without a time', async () => {
    const bare = await translateBytes(
      Buffer.from(
        [
          {
            id: '0b8f7c52-1111-4222-8333-444455556666',
            timestamp: '2025-05-01T10:00:00.000Z',
            instructions: null,
            git: {},
          },
          { record_type: 'state' },
          { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }] },
          { type: 'function_call', name: 'shell', arguments: '{}', call_id: 'c1' },
          { type: 'function_call_output', call_id: 'c1', output: 'ok' },
          { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'done' }] },
        ]
          .map((row) => JSON.stringify(row))
          .join('\n'),
      ),
    );
    const graph = await graphOf(bare.records);
    expect(bare.rejects).toEqual([]);
    expect(
      ['Prompt', 'OrchestratorRun', 'Iteration', 'ToolCall'].map((label) => countOf(graph, label)),
    ).toEqual([1, 1, 2, 1]);
    expect(new Set(bare.records.map(({ data }) => data['timestamp'])).size).toBeGreaterThan(5);
  });

  it('give nothing twice, from a file again or from its longer version (P5)', async () => {
    const bytes = sampleBytes('codex/jazzyalex-agent-sessions-codex-small.jsonl');
    const { records } = await translateBytes(bytes);
    const whole = await graphOf(records);
    expect((await graphOf(records, records)).digest).toBe(whole.digest);
    const part = await translateBytes(bytes.subarray(0, Math.floor(bytes.length * 0.4)));
    expect((await graphOf(part.records, records)).digest).toBe(whole.digest);
  });

  it('keep their line when a byte order mark or half a record stands before it', async () => {
    const marked = await translateSample('codex/recon-bom-first.jsonl');
    expect(marked.rejects).toEqual([]);
    const partial = await translateSample('codex/recon-partial-then-full-record.jsonl');
    expect(partial.rejects).toEqual([{ line: 13, code: 'RECORD_NOT_JSON' }]);
  });

  it('keep a text that the same log says twice: only the other log repeats it', async () => {
    const asked = (text: string): Item => ['event_msg', { type: 'user_message', message: text }];
    const said = (text: string): Item => ['event_msg', { type: 'agent_message', message: text }];
    const item = (role: string, text: string): Item => [
      'response_item',
      { type: 'message', role, content: [{ type: 'text', text }] },
    ];
    const counts = (graph: StoredGraph): readonly number[] =>
      ['Prompt', 'OrchestratorRun', 'Iteration'].map((label) => countOf(graph, label));
    const ofItems = [item('user', 'continue'), item('assistant', 'ok')];
    const ofMessages = [asked('continue'), said('ok')];
    const ofBoth = [item('user', 'go on'), asked('go on'), said('ok'), item('assistant', 'ok')];
    for (const turn of [ofItems, ofMessages, ofBoth])
      expect(counts(await graphOfRows(meta, ...turn, ...turn, ...turn))).toEqual([3, 3, 3]);
  });

  it('of a spawned thread hang below the thread that spawned it, wherever their header says so', async () => {
    const spawn = { parent_thread_id: 'parent', depth: 1, agent_role: 'explorer' };
    for (const told of [spawn, { source: { subagent: { thread_spawn: spawn } } }]) {
      const graph = await graphOfRows(['session_meta', { id: 'child', ...told }]);
      expect(graph.edges.has('parent\nHAS_SUBSESSION\nchild')).toBe(true);
    }
  });
});

describe('what codex exec --json prints', () => {
  const print = (...lines: readonly object[]): Buffer =>
    Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n'));
  const started = { type: 'thread.started', thread_id: 't-1' };
  const command = { id: 'item_0', type: 'command_execution', command: 'ls' };
  const turn = [
    { type: 'turn.started' },
    { type: 'item.started', item: { ...command, status: 'in_progress' } },
    {
      type: 'item.completed',
      item: { ...command, aggregated_output: 'a\n', exit_code: 0, status: 'completed' },
    },
    { type: 'item.completed', item: { id: 'item_1', type: 'reasoning', text: 'one file' } },
    { type: 'item.completed', item: { id: 'item_2', type: 'agent_message', text: 'Done' } },
    { type: 'turn.completed', usage },
  ];

  it('gives runs, iterations, blocks, calls and tokens as a rollout does', async () => {
    const { records, rejects } = await translateBytes(print(started, ...turn));
    expect(rejects).toEqual([]);
    expect(new Set(records.map(({ session }) => session))).toEqual(new Set(['t-1']));
    const graph = await graphOf(records);
    expect(['OrchestratorRun', 'ToolCall', 'Iteration'].map((one) => countOf(graph, one))).toEqual([
      1, 1, 2,
    ]);
    const calls = [...graph.nodes.values()].filter(({ labels }) => labels.has('ToolCall'));
    expect(calls[0]?.properties.get('tool_name')).toBe('exec_command');
    expect(calls[0]?.properties.get('result_success')).toBe(true);
    expect(graph.findings).toEqual([]);
  });

  it('keeps items of two turns apart, whose ids begin anew, and tells of failures', async () => {
    const failed = { ...command, command: 'false', aggregated_output: '', exit_code: 1 };
    const { records } = await translateBytes(
      print(
        started,
        ...turn,
        { type: 'turn.started' },
        { type: 'item.started', item: { ...command, command: 'false' } },
        { type: 'item.completed', item: { ...failed, status: 'failed' } },
        {
          type: 'item.completed',
          item: {
            id: 'item_1',
            type: 'mcp_tool_call',
            server: 'db',
            tool: 'query',
            arguments: { sql: '1' },
            error: { message: 'no' },
            status: 'failed',
          },
        },
        { type: 'item.updated', item: { id: 'item_2', type: 'todo_list', items: [] } },
        { type: 'turn.failed', error: { message: 'stream lost' } },
        { type: 'error', message: 'stream lost' },
      ),
    );
    const graph = await graphOf(records);
    expect(countOf(graph, 'OrchestratorRun')).toBe(2);
    const calls = [...graph.nodes.values()].filter(({ labels }) => labels.has('ToolCall'));
    expect(
      calls.map(({ properties }) => [
        properties.get('tool_name'),
        properties.get('result_success'),
      ]),
    ).toEqual(
      expect.arrayContaining([
        ['exec_command', true],
        ['exec_command', false],
        ['db__query', false],
      ]),
    );
    expect(records.filter(({ event }) => event === 'provider:error')).toHaveLength(2);
    const ends = [...graph.nodes.values()].filter(({ labels }) => labels.has('OrchestratorRun'));
    expect(ends.map(({ properties }) => properties.get('status')).toSorted()).toEqual([
      'error',
      'success',
    ]);
  });
});
