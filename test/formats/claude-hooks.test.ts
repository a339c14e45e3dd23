import { describe, expect, it } from 'vitest';
import { bodyOfDraft, translateHook } from '#formats';
import type { LogRecord } from '#record';
import type { StoredGraph } from '../handlers/stored-graph.ts';
import { graphOf, recordOfText, translateBytes, translateSample } from './translate-file.ts';

function countOf(graph: StoredGraph, label: string): number {
  return [...graph.nodes.values()].filter(({ labels }) => labels.has(label)).length;
}

/** Payloads as they arrive, a second apart. */
function live(...payloads: readonly Readonly<Record<string, unknown>>[]): readonly LogRecord[] {
  return payloads.flatMap((payload, at) => {
    const time = `2026-07-20T10:00:${String(at).padStart(2, '0')}.000Z`;
    const hook = { session_id: 's', transcript_path: '/p/projects/w/s.jsonl', ...payload };
    return translateHook(JSON.parse(JSON.stringify(hook)), { time, workspace: undefined }).map(
      (draft) => {
        const record = recordOfText(bodyOfDraft(draft));
        if (typeof record === 'string') throw new Error(record);
        return record;
      },
    );
  });
}

const promptId = '550e8400-e29b-41d4-a716-446655440000';
const hooks = live(
  { hook_event_name: 'SessionStart', source: 'startup', cwd: '/w' },
  { hook_event_name: 'UserPromptSubmit', prompt: 'go', prompt_id: promptId },
  {
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command: 'ls' },
    tool_use_id: 't1',
    prompt_id: promptId,
  },
  {
    hook_event_name: 'PostToolUse',
    tool_name: 'Bash',
    tool_input: {},
    tool_response: { stdout: 'a' },
    tool_use_id: 't1',
    prompt_id: promptId,
  },
  { hook_event_name: 'Stop', prompt_id: promptId, last_assistant_message: 'done' },
);

function rows(): string {
  const envelope = { sessionId: 's', cwd: '/w', version: '2' };
  const at = (second: number): string => `2026-07-20T10:00:0${second}.500Z`;
  const call = { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } };
  const result = { type: 'tool_result', tool_use_id: 't1', content: 'a' };
  const uuid = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;
  return [
    { type: 'user', uuid: uuid(1), promptId, timestamp: at(1), message: { content: 'go' } },
    { type: 'assistant', uuid: uuid(2), timestamp: at(2), message: { id: 'm1', content: [call] } },
    { type: 'user', uuid: uuid(3), promptId, timestamp: at(3), message: { content: [result] } },
    {
      type: 'assistant',
      uuid: uuid(4),
      timestamp: at(4),
      message: { id: 'm2', stop_reason: 'end_turn', content: [{ type: 'text', text: 'done' }] },
    },
  ]
    .map((row) => `${JSON.stringify({ ...envelope, ...row })}\n`)
    .join('');
}

describe('Claude Code hooks and the transcript of their session', () => {
  it('add nothing twice, whichever comes first, and however often (P5)', async () => {
    const file = (await translateBytes(Buffer.from(rows()))).records;
    const fileAlone = await graphOf(file);
    expect((await graphOf(file, hooks)).digest).toBe(fileAlone.digest);
    const both = await graphOf(hooks, file);
    expect((await graphOf(hooks, file, hooks, file)).digest).toBe(both.digest);
  });

  it('make one structure: calls hang under the answer that asked for them, though their hook was faster', async () => {
    const file = (await translateBytes(Buffer.from(rows()))).records;
    const fileAlone = await graphOf(file);
    const both = await graphOf(hooks, file);
    expect(both.findings).toEqual([]);
    // Prompts are known by their time, which a hook does not know; all else is the same thing.
    const structure = (graph: StoredGraph): readonly string[] =>
      [...graph.edges.keys()]
        .filter(
          (key) =>
            /HAS_PART|HAS_TOOL_CALL|CAUSED|HAS_EXECUTION/.test(key) && !key.includes('::prompt::'),
        )
        .sort();
    expect(structure(both)).toEqual(structure(fileAlone));
    for (const label of ['Prompt', 'OrchestratorRun', 'Iteration', 'ToolCall'])
      expect([label, countOf(both, label)]).toEqual([label, countOf(fileAlone, label)]);
  });

  it('alone give session, prompt, run and calls', async () => {
    const graph = await graphOf(hooks);
    const counts = ['RootSession', 'Prompt', 'OrchestratorRun', 'ToolCall'].map((label) =>
      countOf(graph, label),
    );
    expect(counts).toEqual([1, 1, 1, 1]);
    expect(graph.nodes.get(`s::orch_run::${promptId}`)?.properties.get('response')).toBe('done');
  });

  it('without a prompt id share nothing with their file, and then both are kept (README)', async () => {
    const old = live({ hook_event_name: 'UserPromptSubmit', prompt: 'go' });
    const file = (
      await translateBytes(Buffer.from(rows().replaceAll(`"promptId":"${promptId}",`, '')))
    ).records;
    expect(countOf(await graphOf(old, file), 'Prompt')).toBe(2);
  });
});

describe('hook payloads', () => {
  it('of sub-agents belong to the session of their agent', async () => {
    const graph = await graphOf(
      live(
        { hook_event_name: 'SessionStart', source: 'startup' },
        { hook_event_name: 'SubagentStart', agent_id: 'a1', agent_type: 'Explore' },
        {
          hook_event_name: 'PreToolUse',
          agent_id: 'a1',
          tool_name: 'Read',
          tool_use_id: 't2',
          tool_input: {},
        },
        { hook_event_name: 'SubagentStop', agent_id: 'a1' },
        {
          hook_event_name: 'PostToolUse',
          tool_name: 'Agent',
          tool_use_id: 't1',
          tool_input: { subagent_type: 'Explore' },
          tool_response: { agentId: 'a1' },
        },
      ),
    );
    expect(graph.nodes.get('s-agent-a1')?.labels.has('SubSession')).toBe(true);
    expect(graph.nodes.has('s-agent-a1::tool::t2')).toBe(true);
    expect(graph.edges.has('s::delegation::t1\nENCOMPASSES\ns-agent-a1')).toBe(true);
  });

  it('of all names are events, known or not, with and without a session (drift, edge cases)', async () => {
    for (const name of [
      'made-hooks-official-shape-one-session',
      'vredchenko-claude-transcripts-hooks',
      'vredchenko-claude-transcripts-hooks-edge',
    ]) {
      const file = await translateSample(`claude-hooks/${name}.ndjson`);
      expect(file.rejects).toEqual([]);
      expect(file.records.length).toBeGreaterThanOrEqual(file.lines);
    }
  });

  it('take the workspace from the folder of the transcript, as the transcript itself does', () => {
    expect(hooks.every(({ workspace }) => workspace === 'w')).toBe(true);
  });
});
