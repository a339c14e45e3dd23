import { JsonInvalid, parseJson, type JsonObject, type JsonValue } from '#base';
import { listOf, objectOf, recall, remember, slugOf, textOf, without } from '../event-draft.ts';
import { callEventId, callIn, emit, runOf, type RowContext } from './row-context.ts';
import { callsMax } from './state.ts';
import { isToldAgain, needRun, promptTold } from './turns.ts';

/** What the model gave back or was given: the log of which the next request is made. */
export function responseItem(context: RowContext): void {
  const { kind, payload } = context;
  if (kind === 'message') message(context);
  else if (kind === 'reasoning') block(context, { ...payload, type: 'thinking' });
  else if (callKinds.has(kind)) call(context);
  else if (kind.endsWith('_output') || kind === 'tool_result') output(context);
  else emit(context, `codex:${slugOf(kind)}`, without(payload, 'type'));
}

const callKinds: ReadonlySet<string> = new Set([
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'tool_search_call',
  'web_search_call',
  'image_generation_call',
  'tool_call',
]);

function message(context: RowContext): void {
  const { payload } = context;
  const text = contentText(payload['content']);
  if (payload['role'] === 'assistant') {
    if (isToldAgain(context.state, 'items', `agent:${text}`))
      emit(context, 'codex:message', payload);
    else block(context, { ...payload, type: 'text', text });
  } else if (payload['role'] === 'user' && text !== '') promptTold(context, text, 'items');
  else emit(context, 'codex:message', without(payload, 'type'));
}

/** A message of the model in the other log; in files that have no items it is the only one. */
export function agentMessage(context: RowContext): void {
  const text = textOf(context.payload['message']) ?? '';
  if (isToldAgain(context.state, 'messages', `agent:${text}`))
    emit(context, 'codex:agent_message', without(context.payload, 'type'));
  else block(context, { ...context.payload, type: 'text', text });
}

/** A block of the answer at hand; the first after a prompt or an output begins a new one, hence an Iteration. */
function block(context: RowContext, content: JsonObject, callId?: string): void {
  const { state } = context;
  needRun(context);
  if (!state.isAnswering) {
    state.isAnswering = true;
    state.blocks = 0;
    const told = { ...runOf(context), provider: state.provider ?? 'openai', model: state.model };
    emit(context, 'provider:request', told);
    emit(context, 'llm:request', told);
  }
  emit(context, 'content_block:end', {
    ...runOf(context),
    block: content,
    block_index: state.blocks,
    tool_call_id: callId,
  });
  state.blocks += 1;
}

function call(context: RowContext): void {
  const { payload, kind, state, place } = context;
  const callId = callIn(payload['call_id']) ?? callIn(payload['id']) ?? place;
  // Printed items tell their call again when they end.
  if (recall(state.calls, callId) !== undefined) return;
  const name = textOf(payload['name']) ?? textOf(objectOf(payload['function'])?.['name']) ?? kind;
  const input = payload['arguments'] ?? payload['input'] ?? payload['action'];
  block(
    context,
    { ...without(payload, 'arguments', 'input', 'action'), type: 'tool_use', id: callId },
    callId,
  );
  emit(
    context,
    'tool:pre',
    { ...runOf(context), tool_name: name, tool_call_id: callId, tool_input: parsed(input) },
    { id: callEventId('pre', callId) },
  );
  remember(state.calls, callId, name, callsMax);
}

function output(context: RowContext): void {
  const { payload, state } = context;
  needRun(context);
  state.isAnswering = false;
  const callId = callIn(payload['call_id']) ?? Object.keys(state.calls).at(-1);
  if (callId === undefined) {
    emit(context, `codex:${slugOf(context.kind)}`, without(payload, 'type'));
    return;
  }
  const tool_name = recall(state.calls, callId);
  delete state.calls[callId];
  const result = resultOf(payload['output'] ?? payload['tools'] ?? payload['result']);
  emit(
    context,
    'tool:post',
    { ...runOf(context), tool_name, tool_call_id: callId, result },
    { id: callEventId('post', callId) },
  );
}

/** An output is a text, an object, or an object as text; a code of exit that is not 0 is no success. */
function resultOf(given: JsonValue | undefined): JsonObject {
  const output = parsed(given);
  const shaped = objectOf(output);
  const code = objectOf(shaped?.['metadata'])?.['exit_code'];
  const isFailed = shaped?.['success'] === false || (typeof code === 'number' && code !== 0);
  return { ...shaped, success: !isFailed, output: shaped?.['output'] ?? output ?? null };
}

/** Arguments stand as JSON text in their row; a text that is none stays a text. */
function parsed(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== 'string' || !/^\s*[{[]/.test(value)) return value;
  try {
    return parseJson(value, { depthMax: 100 });
  } catch (error) {
    if (error instanceof JsonInvalid) return value;
    throw error;
  }
}

export function contentText(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((item) => textOf(objectOf(item)?.['text']))
    .filter((text) => text !== undefined)
    .join('\n\n');
}
