import { isRawNumber, type JsonObject, type JsonValue } from '#base';
import { listOf, objectOf, textOf } from '../event-draft.ts';
import { structured } from './attributes.ts';

/** What a span is, in whichever convention it says so. */
export type SpanRole = 'agent' | 'chain' | 'model' | 'tool' | 'other';

const modelWords: ReadonlySet<string> = new Set([
  'chat',
  'generate_content',
  'text_completion',
  'completion',
  'llm',
  'chat_model',
]);
const agentWords: ReadonlySet<string> = new Set(['invoke_agent', 'invoke_workflow', 'agent']);
/** What puts steps together: outermost it is the run, within another span it is a step like any other. */
const chainWords: ReadonlySet<string> = new Set(['workflow', 'chain']);
const toolWords: ReadonlySet<string> = new Set(['execute_tool', 'tool']);

/** Vercel's operations and the spans of Claude Code and of Google's ADK, by name. */
const names: readonly (readonly [RegExp, SpanRole])[] = [
  [/^ai\.(generate|stream)(Text|Object)\.do(Generate|Stream)$/, 'model'],
  [/^ai\.(generate|stream)(Text|Object)$/, 'agent'],
  [/^ai\.toolCall$/, 'tool'],
  [/^claude_code\.interaction$/, 'agent'],
  [/^claude_code\.llm_request$/, 'model'],
  [/^claude_code\.tool$/, 'tool'],
  [/^agent_run \[.+\]$/, 'agent'],
];

export function roleOf(name: string, attributes: JsonObject): SpanRole {
  for (const key of [
    'gen_ai.operation.name',
    'openinference.span.kind',
    'langsmith.span.kind',
    'traceloop.span.kind',
    'mlflow.spanType',
  ]) {
    const word = textOf(attributes[key])?.toLowerCase().replaceAll('"', '');
    if (word === undefined) continue;
    if (modelWords.has(word)) return 'model';
    if (toolWords.has(word)) return 'tool';
    if (agentWords.has(word)) return 'agent';
    if (chainWords.has(word)) return 'chain';
  }
  const operation = textOf(attributes['ai.operationId']) ?? name;
  const known = names.find(([form]) => form.test(operation));
  if (known !== undefined) return known[1];
  if (attributes['gen_ai.tool.name'] !== undefined) return 'tool';
  if (attributes['gen_ai.agent.name'] !== undefined || attributes['agent_name'] !== undefined)
    return 'agent';
  return attributes['gen_ai.request.model'] === undefined &&
    attributes['llm.request.type'] === undefined
    ? 'other'
    : 'model';
}

/** Keys of the session, in the order of use (formats 4.2). */
const sessionKeys = [
  'gen_ai.conversation.id',
  'session.id',
  'langfuse.session.id',
  'langsmith.metadata.session_id',
  'langsmith.metadata.thread_id',
  'langsmith.metadata.conversation_id',
  'traceloop.association.properties.session_id',
  'mlflow.trace.session',
  'gcp.vertex.agent.session_id',
  'conversation.id',
  'ai.telemetry.metadata.sessionId',
] as const;

export function sessionIn(attributes: JsonObject): string | undefined {
  return firstText(attributes, ...sessionKeys);
}

export function modelIn(attributes: JsonObject): string | undefined {
  return firstText(
    attributes,
    'gen_ai.response.model',
    'gen_ai.request.model',
    'llm.model_name',
    'ai.model.id',
    'model_name',
    'model',
  );
}

export function providerIn(attributes: JsonObject): string | undefined {
  return firstText(
    attributes,
    'gen_ai.provider.name',
    'gen_ai.system',
    'llm.provider',
    'llm.system',
    'ai.model.provider',
  );
}

export function agentIn(attributes: JsonObject): string | undefined {
  return firstText(
    attributes,
    'gen_ai.agent.name',
    'agent.name',
    'agent_name',
    'ai.telemetry.functionId',
    'graph.node.id',
    'traceloop.entity.name',
  );
}

/** Names of each count, the newest first. */
const usageKeys = {
  input_tokens: [
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.prompt_tokens',
    'llm.token_count.prompt',
    'ai.usage.inputTokens',
    'ai.usage.promptTokens',
    'input_tokens',
  ],
  output_tokens: [
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.completion_tokens',
    'llm.token_count.completion',
    'ai.usage.outputTokens',
    'ai.usage.completionTokens',
    'output_tokens',
  ],
  cache_read_tokens: [
    'gen_ai.usage.cache_read.input_tokens',
    'llm.token_count.prompt_details.cache_read',
    'ai.usage.cachedInputTokens',
    'cache_read_tokens',
  ],
  cache_write_tokens: [
    'gen_ai.usage.cache_creation.input_tokens',
    'llm.token_count.prompt_details.cache_write',
    'cache_creation_tokens',
  ],
  reasoning_tokens: [
    'gen_ai.usage.reasoning.output_tokens',
    'llm.token_count.completion_details.reasoning',
    'ai.usage.reasoningTokens',
  ],
  cost_usd: ['gen_ai.usage.cost', 'llm.cost.total'],
} as const;

export function usageIn(attributes: JsonObject): JsonObject | undefined {
  const counts = Object.entries(usageKeys).flatMap(([name, keys]) => {
    const value = keys.map((key) => numberIn(attributes[key])).find((one) => one !== undefined);
    return value === undefined ? [] : [[name, value] as const];
  });
  return counts.length === 0 ? undefined : Object.fromEntries(counts);
}

export interface ToolFacts {
  readonly name: string | undefined;
  readonly callId: string | undefined;
  readonly input: JsonValue | undefined;
  readonly output: JsonValue | undefined;
}

export function toolIn(attributes: JsonObject): ToolFacts {
  const first = (...keys: readonly string[]): JsonValue | undefined =>
    structured(
      keys.map((key) => attributes[key]).find((value) => value !== undefined && value !== null),
    );
  return {
    name: firstText(
      attributes,
      'gen_ai.tool.name',
      'tool.name',
      'tool_name',
      'ai.toolCall.name',
      'traceloop.entity.name',
    ),
    callId: firstText(
      attributes,
      'gen_ai.tool.call.id',
      'tool_call.id',
      'tool_use_id',
      'ai.toolCall.id',
    ),
    input: first(
      'gen_ai.tool.call.arguments',
      'input.value',
      'ai.toolCall.args',
      'traceloop.entity.input',
      'tool_arguments',
      'gcp.vertex.agent.tool_call_args',
      'gen_ai.prompt',
    ),
    output: first(
      'gen_ai.tool.call.result',
      'output.value',
      'ai.toolCall.result',
      'traceloop.entity.output',
      'tool_response',
      'gcp.vertex.agent.tool_response',
      'gen_ai.completion',
    ),
  };
}

/** What the user asked: the last message of a user, in whichever form the span carries messages. */
export function promptIn(attributes: JsonObject): string | undefined {
  for (const name of ['gen_ai.input.messages', 'ai.prompt.messages', 'pydantic_ai.all_messages']) {
    const asked = lastOfUser(structured(attributes[name]));
    if (asked !== undefined) return asked;
  }
  for (const [prefix, member] of [
    ['gen_ai.prompt', ''],
    ['llm.input_messages', 'message.'],
  ] as const) {
    for (let at = 99; at >= 0; at -= 1) {
      if (attributes[`${prefix}.${at}.${member}role`] !== 'user') continue;
      return textOf(attributes[`${prefix}.${at}.${member}content`]);
    }
  }
  const told = firstText(
    attributes,
    'gen_ai.prompt',
    'input.value',
    'ai.prompt',
    'traceloop.entity.input',
    'user_prompt',
    'gcp.vertex.agent.llm_request',
    'mlflow.spanInputs',
  );
  const shaped = structured(told);
  const { messages, contents } = objectOf(shaped) ?? {};
  return lastOfUser(messages ?? contents ?? shaped) ?? told;
}

/** Messages have `content`, a text or parts, or `parts` of the conventions. */
function lastOfUser(messages: JsonValue | undefined): string | undefined {
  const asked = listOf(messages)
    .map(objectOf)
    .findLast((message) => message?.['role'] === 'user' || message?.['type'] === 'human');
  if (asked === undefined) return undefined;
  const { content, parts } = asked;
  return partsText(parts) ?? textOf(content) ?? partsText(content);
}

/** What the model answered, as blocks: texts and the calls that it asks for. */
export function answerIn(attributes: JsonObject): readonly JsonObject[] {
  const messages = listOf(structured(attributes['gen_ai.output.messages'])).map(objectOf);
  const parts = messages.flatMap((message) => listOf(message?.['parts'])).map(objectOf);
  if (parts.length > 0) return parts.filter((part) => part !== undefined);
  const text = firstText(
    attributes,
    'llm.output_messages.0.message.content',
    'llm.output_messages.0.message.contents.0.message_content.text',
    'gen_ai.completion.0.content',
    'ai.response.text',
    'gen_ai.completion',
  );
  return [...(text === undefined ? [] : [{ type: 'text', text }]), ...callsIn(attributes)];
}

/** The calls of an answer: OpenInference, OpenLLMetry, Vercel. */
function callsIn(attributes: JsonObject): readonly JsonObject[] {
  const calls: JsonObject[] = [];
  for (const [prefix, member] of [
    ['llm.output_messages.0.message.tool_calls', 'tool_call.function.name'],
    ['gen_ai.completion.0.tool_calls', 'name'],
  ] as const) {
    for (let at = 0; at < 64; at += 1) {
      const name = textOf(attributes[`${prefix}.${at}.${member}`]);
      if (name === undefined) break;
      const id = attributes[`${prefix}.${at}.tool_call.id`] ?? attributes[`${prefix}.${at}.id`];
      calls.push({ type: 'tool_call', id: id ?? null, name });
    }
  }
  for (const one of listOf(structured(attributes['ai.response.toolCalls'])).map(objectOf)) {
    const { toolName, toolCallId } = one ?? {};
    if (toolName !== undefined)
      calls.push({ type: 'tool_call', id: toolCallId ?? null, name: toolName });
  }
  return calls;
}

export function firstText(attributes: JsonObject, ...keys: readonly string[]): string | undefined {
  return keys.map((key) => textOf(attributes[key])).find((text) => text !== undefined);
}

function partsText(parts: JsonValue | undefined): string | undefined {
  const texts = listOf(parts)
    .map((part) => textOf(objectOf(part)?.['content']) ?? textOf(objectOf(part)?.['text']))
    .filter((text) => text !== undefined);
  return texts.length === 0 ? undefined : texts.join('\n\n');
}

/** Counts come as numbers, and from some exporters as text. */
function numberIn(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value === 'number' || isRawNumber(value)) return value;
  if (typeof value !== 'string' || !/^\d+(\.\d+)?$/.test(value)) return undefined;
  return Number(value);
}
