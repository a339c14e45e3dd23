import { describe, expect, it } from 'vitest';
import type { StoredGraph } from '../handlers/stored-graph.ts';
import { graphOf, sampleBytes, translateBytes, translateSample } from './translate-file.ts';

const folder = 'claude-code';
const plain = `${folder}/d-kimuson-claude-code-viewer-1af7fc5e.jsonl`;
const sidechains = `${folder}/d-kimuson-claude-code-viewer-5c0375b4.jsonl`;

function countOf(graph: StoredGraph, label: string): number {
  return [...graph.nodes.values()].filter(({ labels }) => labels.has(label)).length;
}

function edgesOf(graph: StoredGraph, type: string): readonly string[] {
  return [...graph.edges.keys()].filter((key) => key.split('\n')[1] === type);
}

function row(members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ sessionId: 's', timestamp: '2026-07-20T09:00:01.000Z', ...members });
}

const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

function prompt(n: number, text: string, more: Readonly<Record<string, unknown>> = {}): string {
  return row({ type: 'user', uuid: uuid(n), message: { role: 'user', content: text }, ...more });
}

function answer(n: number, id: string, output: number, block: object, more: object = {}): string {
  const usage = { input_tokens: 5, output_tokens: output };
  const message = { id, role: 'assistant', model: 'm', content: [block], usage, ...more };
  return row({ type: 'assistant', uuid: uuid(n), requestId: 'r', message });
}

function graphOfRows(...rows: readonly string[]): Promise<StoredGraph> {
  return translateBytes(Buffer.from(`${rows.join('\n')}\n`)).then(({ records }) =>
    graphOf(records),
  );
}

describe('Claude Code transcripts', () => {
  it('give prompts, runs, one iteration for each answer, its blocks and its calls', async () => {
    const { records, rejects } = await translateSample(plain);
    const graph = await graphOf(records);
    expect(rejects).toEqual([]);
    expect(graph.findings).toEqual([]);
    const counts = [
      'Session',
      'Prompt',
      'OrchestratorRun',
      'Iteration',
      'ContentBlock',
      'ToolCall',
    ];
    expect(counts.map((label) => countOf(graph, label))).toEqual([1, 1, 1, 7, 15, 12]);
    expect(edgesOf(graph, 'HAS_TOOL_CALL')).toHaveLength(12);
    expect(edgesOf(graph, 'CAUSED')).toHaveLength(12);
    expect(edgesOf(graph, 'TRIGGERS')).toHaveLength(1);
    expect(
      [...graph.nodes.values()].some(({ properties }) => properties.get('unresolved') === true),
    ).toBe(false);
  });

  it('tell sidechains as sessions of their own, delegated by the call with their prompt', async () => {
    const { records } = await translateSample(sidechains);
    const graph = await graphOf(records);
    expect(graph.findings).toEqual([]);
    expect(countOf(graph, 'SubSession')).toBe(2);
    expect(countOf(graph, 'Delegation')).toBe(2);
    expect(edgesOf(graph, 'ENCOMPASSES')).toHaveLength(2);
    expect(edgesOf(graph, 'TRIGGERED')).toHaveLength(2);
    expect(edgesOf(graph, 'HAS_AGENT')).toHaveLength(2);
    expect(graph.nodes.has('agent::general-purpose')).toBe(true);
  });

  it('tie the file of a sub-agent to the call whose answer names it', async () => {
    const call = {
      type: 'tool_use',
      id: 't1',
      name: 'Agent',
      input: { subagent_type: 'Explore', prompt: 'look' },
    };
    const result = { type: 'tool_result', tool_use_id: 't1', content: 'found' };
    const main = [
      prompt(1, 'go'),
      answer(2, 'a1', 3, call),
      row({
        type: 'user',
        uuid: uuid(3),
        message: { content: [result] },
        toolUseResult: { agentId: 'abc' },
      }),
    ];
    const sub = [prompt(4, 'look', { agentId: 'abc', isSidechain: true })];
    const graph = await graphOfRows(...main, ...sub);
    expect([...graph.nodes.keys()]).toContain('s-agent-abc');
    expect(edgesOf(graph, 'ENCOMPASSES')).toEqual(['s::delegation::t1\nENCOMPASSES\ns-agent-abc']);
    expect(edgesOf(graph, 'HAS_SUBSESSION')).toEqual(['s\nHAS_SUBSESSION\ns-agent-abc']);
    const delegation = graph.nodes.get('s::delegation::t1')?.properties;
    expect([delegation?.get('agent'), delegation?.get('success')]).toEqual(['Explore', true]);
  });

  it('count the usage of an answer once, though each of its rows repeats it', async () => {
    const text = { type: 'text', text: 'x' };
    const graph = await graphOfRows(
      prompt(1, 'go'),
      answer(2, 'a1', 3, { type: 'thinking', thinking: 'hm' }),
      answer(3, 'a1', 172, text),
      answer(4, 'a1', 172, text, { stop_reason: 'end_turn' }),
    );
    expect(countOf(graph, 'Iteration')).toBe(1);
    expect(countOf(graph, 'ContentBlock')).toBe(3);
    expect(countOf(graph, 'LlmResponseEvent')).toBe(2);
    const iteration = graph.nodes.get('s::iteration::1')?.properties;
    expect([iteration?.get('usage_output'), iteration?.get('model')]).toEqual([172, 'm']);
    const run = graph.nodes.get(`s::orch_run::${uuid(1)}`)?.properties;
    expect([run?.get('status'), run?.get('orchestrator_name')]).toEqual(['success', 'claude-code']);
  });

  it('take words of the client in a user’s place for no prompt, and an interruption for one', async () => {
    const graph = await graphOfRows(
      prompt(1, 'go'),
      prompt(2, '<local-command-stdout>ok</local-command-stdout>'),
      prompt(3, 'Caveat: not typed', { isMeta: true }),
      prompt(4, 'summary so far', { isCompactSummary: true }),
      prompt(5, '[Request interrupted by user]'),
      row({
        type: 'system',
        subtype: 'compact_boundary',
        uuid: uuid(6),
        compactMetadata: { trigger: 'auto', preTokens: 9 },
      }),
      row({ type: 'queue-operation', operation: 'enqueue', content: 'later' }),
      row({ type: 'some-new-type', uuid: uuid(7) }),
    );
    expect(countOf(graph, 'Prompt')).toBe(1);
    expect(countOf(graph, 'Cancellation')).toBe(1);
    expect(countOf(graph, 'ContextCompaction')).toBe(1);
    expect(countOf(graph, 'ClaudeCodeQueueOperationEnqueueEvent')).toBe(1);
    expect(countOf(graph, 'ClaudeCodeSomeNewTypeEvent')).toBe(1);
    expect(graph.nodes.get(`s::orch_run::${uuid(1)}`)?.properties.get('status')).toBe('cancelled');
  });

  it('name the session that a fork comes from, and trust a row that stands in another’s file', async () => {
    const graph = await graphOfRows(
      prompt(1, 'go', { forkedFrom: { sessionId: 'origin', messageUuid: uuid(9) } }),
      prompt(2, 'elsewhere', { sessionId: 'other' }),
    );
    expect(edgesOf(graph, 'FORKED')).toEqual(['origin\nFORKED\ns']);
    expect(edgesOf(graph, 'HAS_PART').filter((key) => key.startsWith('other\n'))).toHaveLength(1);
  });

  it('keep time and session back until the file tells them (rows in front have neither)', async () => {
    const { records } = await translateSample(
      `${folder}/simonw-claude-code-transcripts-sample_session.jsonl`,
    );
    expect(new Set(records.map(({ session }) => session))).toEqual(new Set(['test-session-id']));
    expect(records.every(({ data }) => (data['timestamp'] as string) >= '2025-12-24')).toBe(true);
  });
});

describe('a longer version of a file', () => {
  it('adds what is new and nothing twice, wherever the first import was cut off (P5)', async () => {
    const bytes = sampleBytes(sidechains);
    const { records } = await translateBytes(bytes);
    const whole = await graphOf(records);
    expect((await graphOf(records, records)).digest).toBe(whole.digest);
    for (const share of [0.1, 0.37, 0.61, 0.9]) {
      const part = await translateBytes(bytes.subarray(0, Math.floor(bytes.length * share)));
      expect((await graphOf(part.records, records)).digest).toBe(whole.digest);
    }
  });

  it('gives the same when a follower goes on from what it remembers', async () => {
    const text = Buffer.from(sampleBytes(sidechains)).toString('utf8');
    const cut = text.indexOf('\n', text.length / 2) + 1;
    const first = await translateBytes(Buffer.from(text.slice(0, cut)));
    const state = JSON.parse(JSON.stringify(first.state)) as typeof first.state;
    const second = await translateBytes(Buffer.from(text.slice(cut)), { state });
    const whole = await translateBytes(Buffer.from(text));
    expect([...first.records, ...second.records].map(({ id }) => id)).toEqual(
      whole.records.map(({ id }) => id),
    );
  });
});

describe('rows that a headless run prints', () => {
  const printed = (members: object): string =>
    JSON.stringify({ session_id: 's', parent_tool_use_id: null, ...members });
  const said = (id: string, block: object, more: object = {}): string =>
    printed({ type: 'assistant', message: { id, role: 'assistant', content: [block] }, ...more });
  const call = { type: 'tool_use', id: 't1', name: 'Task', input: { subagent_type: 'explorer' } };
  const result = { type: 'tool_result', tool_use_id: 't1', content: 'found' };
  const rows = [
    printed({ type: 'system', subtype: 'init', cwd: '/home/dev/demo', tools: ['Task'] }),
    said('m1', call),
    said('m2', { type: 'text', text: 'looking' }, { parent_tool_use_id: 't1' }),
    printed({ type: 'user', message: { role: 'user', content: [result] } }),
    said('m3', { type: 'text', text: 'here' }),
    printed({ type: 'result', subtype: 'success', is_error: false, result: 'here' }),
  ];

  it('give one run without a prompt, and the sub-agent below its call', async () => {
    const graph = await graphOfRows(...rows);
    const runs = [...graph.nodes.values()].filter(({ labels }) => labels.has('OrchestratorRun'));
    expect(runs.map(({ properties }) => properties.get('status'))).toEqual([undefined, 'success']);
    expect(['Session', 'Iteration', 'ToolCall'].map((label) => countOf(graph, label))).toEqual([
      2, 3, 1,
    ]);
    expect(graph.edges.has('s\nHAS_SUBSESSION\ns-sidechain-t1')).toBe(true);
    expect(graph.findings).toEqual([]);
  });

  it('are taken from a list in one line too, and twice give the same', async () => {
    const lines = await translateBytes(Buffer.from(`${rows.join('\n')}\n`));
    const list = await translateBytes(Buffer.from(`[${rows.join(',')}]\n`));
    expect(list.rejects).toEqual([]);
    expect(list.records.map(({ event }) => event)).toEqual(lines.records.map(({ event }) => event));
    const whole = await graphOf(lines.records);
    expect((await graphOf(lines.records, lines.records)).digest).toBe(whole.digest);
  });
});

describe('a file in which no row names a session', () => {
  it('has that of its path', async () => {
    const session = uuid(7);
    for (const path of [
      `/home/dev/.claude/projects/-home-dev/${session}.jsonl`,
      `/home/dev/.claude/projects/-home-dev/${session}/subagents/workflows/w/journal.jsonl`,
    ]) {
      const rows = [JSON.stringify({ type: 'summary', summary: 'x', leafUuid: uuid(1) })];
      if (path.includes('journal'))
        rows.unshift(JSON.stringify({ type: 'started', key: 'k', agentId: 'a' }));
      const { records, rejects } = await translateBytes(Buffer.from(rows.join('\n')), {
        defaults: { path },
      });
      expect(rejects).toEqual([]);
      expect(records.every((record) => record.session.startsWith(session))).toBe(true);
    }
  });
});
