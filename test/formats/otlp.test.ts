import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseJson, type JsonObject } from '#base';
import { bodyOfDraft, decodeOtlpProtobuf, translateLogs, translateTraces } from '#formats';
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

describe('OTLP traces', () => {
  it('of every convention give sessions, runs, iterations and calls (GenAI old and new, OpenInference, LangSmith)', async () => {
    const told: readonly (readonly [string, readonly number[]])[] = [
      ['langfuse-langfuse-microsoft-agent-2025-12-17', [1, 1, 2, 0, 1, 0]],
      ['langfuse-langfuse-openai-agents-2025-09-30', [2, 1, 2, 2, 1, 1]],
      ['langfuse-langfuse-pydantic-ai-2025-06-06', [2, 1, 1, 0, 0, 1]],
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
