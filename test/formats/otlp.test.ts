import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseJson, type JsonObject } from '#base';
import {
  bodyOfDraft,
  decodeOtlpProtobuf,
  TraceSessions,
  translateLogs,
  translateTraces,
} from '#formats';
import type { LogRecord } from '#record';
import type { StoredGraph } from '../handlers/stored-graph.ts';
import { encodeForTest } from './otlp-samples.ts';
import { dataFolder, graphOf, recordOfText } from './translate-file.ts';

function requestOf(name: string): JsonObject {
  return parseJson(readFileSync(join(dataFolder, `otlp/${name}`))) as JsonObject;
}

function recordsOf(request: JsonObject): readonly LogRecord[] {
  return translateTraces(request, 'w').drafts.map(({ draft }) => {
    const record = recordOfText(bodyOfDraft(draft));
    if (typeof record === 'string') throw new Error(record);
    return record;
  });
}

function countsOf(graph: StoredGraph): readonly number[] {
  return ['Session', 'OrchestratorRun', 'Iteration', 'ContentBlock', 'ToolCall', 'Delegation'].map(
    (label) => [...graph.nodes.values()].filter(({ labels }) => labels.has(label)).length,
  );
}

type Attributes = Readonly<Record<string, string>>;

/** Spans `[id, id above, name, attributes]` of one trace. */
function traceOf(
  ...spans: readonly (readonly [number, number, string, Attributes, (object | undefined)?])[]
): JsonObject {
  const hex = (id: number): string => id.toString(16).padStart(16, '0');
  const told = spans.map(([id, above, name, attributes, more]) => ({
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: hex(id),
    parentSpanId: above === 0 ? '' : hex(above),
    name,
    startTimeUnixNano: `17872200${String(id).padStart(2, '0')}000000000`,
    endTimeUnixNano: `17872200${String(id + 20).padStart(2, '0')}000000000`,
    attributes: Object.entries(attributes).map(([key, stringValue]) => ({
      key,
      value: { stringValue },
    })),
    ...more,
  }));
  return JSON.parse(
    JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: told }] }] }),
  ) as JsonObject;
}

function labelled(graph: StoredGraph, label: string): StoredGraph['nodes'] {
  return new Map([...graph.nodes].filter(([, { labels }]) => labels.has(label)));
}

const asked = JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: 'why?' }] }]);
const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.input.messages': asked };
const agent = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.input.messages': asked };

describe('OTLP traces', () => {
  it('of every convention give sessions, runs, iterations and calls (GenAI old and new, OpenInference, LangSmith)', async () => {
    const told: readonly (readonly [string, readonly number[]])[] = [
      ['langfuse-langfuse-microsoft-agent-2025-12-17', [1, 1, 2, 0, 1, 0]],
      ['langfuse-langfuse-openai-agents-2025-09-30', [2, 1, 2, 2, 1, 1]],
      ['langfuse-langfuse-pydantic-ai-2025-06-06', [1, 1, 1, 0, 0, 0]],
      ['langfuse-langfuse-claude-agent-2025-12-22', [1, 1, 4, 0, 2, 0]],
    ];
    for (const [name, counts] of told) {
      const records = recordsOf(requestOf(`${name}.otlp.json`));
      const graph = await graphOf(records, records);
      expect([name, countsOf(graph)]).toEqual([name, counts]);
      expect([name, graph.findings]).toEqual([name, []]);
    }
  });

  it('take usage, model and provider under their names', async () => {
    const graph = await graphOf(
      recordsOf(requestOf('langfuse-langfuse-pydantic-ai-2025-06-06.otlp.json')),
    );
    const iteration = [...graph.nodes.values()].find(({ labels }) =>
      labels.has('Iteration'),
    )?.properties;
    const seen = ['provider', 'model', 'usage_input', 'usage_output'].map((name) =>
      iteration?.get(name),
    );
    expect(seen).toEqual(['openai', 'gpt-4o-2024-08-06', 31, 96]);
  });

  it('are the same events as protobuf and as JSON', () => {
    const json = requestOf('langfuse-langfuse-openai-agents-2025-09-30.otlp.json');
    const packed = decodeOtlpProtobuf(encodeForTest('TracesRequest', json), 'traces');
    const bodies = (request: JsonObject): readonly string[] =>
      recordsOf(request).map(
        ({ event, id, data }) =>
          `${event} ${id} ${data['timestamp'] as string} ${JSON.stringify(data['tool_name'] ?? data['usage'] ?? '')}`,
      );
    expect(bodies(packed)).toEqual(bodies(json));
  });

  it('of a server may stand above a run, and chains within a run are no sub-agents', async () => {
    const graph = await graphOf(
      recordsOf(
        traceOf(
          [1, 0, 'POST /chat', { 'http.request.method': 'POST' }],
          [2, 1, 'AgentExecutor', { 'openinference.span.kind': 'CHAIN', 'input.value': 'why?' }],
          [3, 2, 'RunnableSequence', { 'openinference.span.kind': 'CHAIN' }],
          [4, 3, 'chat m', chat],
        ),
      ),
    );
    expect(countsOf(graph)).toEqual([1, 1, 1, 0, 0, 0]);
    const [run] = labelled(graph, 'OrchestratorRun').values();
    const [prompt] = labelled(graph, 'Prompt').values();
    expect([prompt?.properties.get('prompt'), run?.properties.get('status')]).toEqual([
      'why?',
      'success',
    ]);
  });

  it('of a run whose spans come one by one tell its prompt once', async () => {
    const spans = [
      [2, 1, 'chat m', chat],
      [3, 1, 'chat m', chat],
      [1, 0, 'invoke_agent a', agent],
    ] as const;
    const graph = await graphOf(...spans.map((span) => recordsOf(traceOf(span))));
    expect(labelled(graph, 'Prompt').size).toBe(1);
    expect(countsOf(graph)).toEqual([1, 1, 2, 0, 0, 0]);
    expect(graph.findings).toEqual([]);
  });

  it('may tell their messages by events, and calls and counts in the words of Vercel and OpenLLMetry', async () => {
    const event = (name: string, key: string, stringValue: string): object => ({
      timeUnixNano: '1787220001000000000',
      name,
      attributes: [{ key, value: { stringValue } }],
    });
    const forms: readonly (readonly [string, Attributes, object?])[] = [
      [
        'chat m',
        { 'gen_ai.operation.name': 'chat' },
        {
          events: [
            event('gen_ai.user.message', 'content', 'why?'),
            event('gen_ai.choice', 'message', '{"content":"so"}'),
          ],
        },
      ],
      [
        'chat m',
        { 'gen_ai.operation.name': 'chat', 'gen_ai.completion': 'so' },
        {
          events: [
            event('gen_ai.client.inference.operation.details', 'gen_ai.input.messages', asked),
          ],
        },
      ],
      [
        'ai.generateText.doGenerate',
        {
          'ai.prompt.messages': '[{"role":"user","content":[{"type":"text","text":"why?"}]}]',
          'ai.response.toolCalls': '[{"toolCallId":"c","toolName":"f"}]',
        },
      ],
      [
        'openai.chat',
        {
          'llm.request.type': 'chat',
          'gen_ai.prompt.0.role': 'user',
          'gen_ai.prompt.0.content': 'why?',
          'gen_ai.completion.0.tool_calls.0.name': 'f',
        },
      ],
    ];
    for (const [name, attributes, more] of forms) {
      const graph = await graphOf(recordsOf(traceOf([1, 0, name, attributes, more])));
      const [prompt] = labelled(graph, 'Prompt').values();
      expect([name, prompt?.properties.get('prompt')]).toEqual([name, 'why?']);
      expect([name, labelled(graph, 'ContentBlock').size]).toEqual([name, 1]);
    }
  });

  it('of one run meet, whichever request brought the spans, and in whichever order', async () => {
    const request = requestOf('langfuse-langfuse-microsoft-agent-2025-12-17.otlp.json');
    const alone = (request['resourceSpans'] as unknown as { scopeSpans: { spans: object[] }[] }[])
      .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
      .map(
        (span) =>
          JSON.parse(
            JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }),
          ) as JsonObject,
      );
    const graph = await graphOf(...alone.toReversed().map(recordsOf));
    const runs = [...graph.nodes.entries()].filter(([, { labels }]) =>
      labels.has('OrchestratorRun'),
    );
    const owners = new Set(runs.map(([id]) => id.split('::').at(-1)));
    expect(owners.size).toBe(1);
    expect(runs.every(([, { properties }]) => properties.get('unresolved') !== true)).toBe(true);
  });
});

describe('OTLP logs', () => {
  it('are events of their names; those that count themselves are known again', async () => {
    const request = requestOf('made-claude-code-events-logs.otlp.json');
    const around = { workspace: 'w', time: '2026-07-20T09:00:00Z' };
    const { drafts } = translateLogs(request, around);
    expect(drafts.map(({ draft }) => draft.event)).toContain('otel:user_prompt');
    expect(new Set(drafts.map(({ draft }) => draft.session)).size).toBe(1);
    const records = drafts.map(({ draft }) => recordOfText(bodyOfDraft(draft)) as LogRecord);
    const graph = await graphOf(records);
    expect((await graphOf(records, records)).digest).toBe(graph.digest);
    expect(graph.nodes.size).toBe(8);
  });
});

describe('what is remembered of traces', () => {
  it('is bounded in traces and in spans, and the trace longest unheard of goes first', () => {
    const known = new TraceSessions({ traces: 3, earlyOfOne: 2, early: 4 });
    for (const trace of ['a', 'b', 'c']) known.learn('w', trace, `session-${trace}`);
    expect(known.sessionFor('w', 'a', 's1')).toBe('session-a');
    known.learn('w', 'd', 'session-d');
    expect(known.sessionFor('w', 'b', undefined)).toBeUndefined();
    expect(known.sessionFor('w', 'a', 's2')).toBe('session-a');
    for (const trace of ['e', 'f', 'g'])
      for (const span of ['1', '2', '3']) known.sessionFor('w', trace, span);
    for (const trace of ['e', 'f', 'g']) known.learn('w', trace, 'late');
    // Of e nothing is left, so its repeated span is taken for a new one; g still knows its own.
    expect(known.sessionFor('w', 'e', '1')).toBe('late');
    expect(known.sessionFor('w', 'g', '1')).toBeUndefined();
    expect(known.sessionFor('w', 'g', '3')).toBe('late');
  });

  it('is of one workspace', () => {
    const known = new TraceSessions();
    known.learn('w', 'a', 'session');
    expect(known.sessionFor('v', 'a', 's')).toBeUndefined();
  });

  it('is kept over a restart: the session, and that spans came before it', () => {
    const before = new TraceSessions();
    expect(before.sessionFor('w', 'a', 's1')).toBeUndefined();
    before.learn('w', 'a', 'session-a');
    before.learn('w', 'b', 'session-b');
    expect(before.changes).toBe(3);
    before.learn('w', 'b', 'another');
    expect(before.changes).toBe(3);
    const after = new TraceSessions();
    // The first request of the new life may come before the file was read.
    after.learn('w', 'b', 'later-word');
    after.recall(JSON.parse(JSON.stringify(before.kept())) as ReturnType<typeof before.kept>);
    expect(after.sessionFor('w', 'a', 's2')).toBe('session-a');
    expect(after.parentOf('w', 'a')).toBe('session-a');
    expect(after.sessionFor('w', 'b', 's3')).toBe('session-b');
    expect(after.parentOf('w', 'b')).toBeUndefined();
  });
});
