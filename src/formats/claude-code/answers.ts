import type { JsonObject, JsonValue } from '#base';
import { idPart, objectOf, remember, textOf, without } from '../event-draft.ts';
import { agentTools, claudeIds, providerName } from './ids.ts';
import { beginPrintedRun, closeRun } from './prompts.ts';
import { messageText, nameIn } from './read-row.ts';
import { emit, envelopeOf, rowId, runOf, type RowContext } from './row-context.ts';
import { callsMax } from './state.ts';

/**
 * A row of the model: one or more blocks of one answer. Rows of one `message.id` are one answer, hence one Iteration; the usage that they repeat
 * is told when it grew.
 */
export function assistantMessage(context: RowContext): void {
  const { row, stream } = context;
  if (row.object['isApiErrorMessage'] === true) {
    apiError(context);
    return;
  }
  beginPrintedRun(context);
  const id = nameIn(row.message['id']) ?? rowId(context, 'answer');
  const isNew = stream.answer?.id !== id;
  const answer =
    isNew || stream.answer === undefined ? { id, blocks: 0, output: -1 } : stream.answer;
  stream.answer = answer;
  if (isNew) beginAnswer(context, id);
  let isFirst = true;
  for (const block of row.blocks) {
    blockOf(context, block, answer.blocks, isFirst ? envelopeOf(row.object) : undefined);
    answer.blocks += 1;
    isFirst = false;
  }
  tellUsage(context, answer);
  const { stop_reason: stop } = row.message;
  const endsInText = row.blocks.at(-1)?.['type'] === 'text';
  if ((stop === 'end_turn' || stop === 'stop_sequence') && endsInText) closeRun(context);
}

function beginAnswer(context: RowContext, id: string): void {
  const { model } = context.row.message;
  const told = { ...runOf(context), provider: providerName, model, message_id: id };
  const key = idPart(id);
  emit(context, 'provider:request', told, { id: `cc:request:${key}` });
  emit(context, 'llm:request', told, { id: `cc:llm:${key}` });
}

function blockOf(
  context: RowContext,
  block: JsonObject,
  index: number,
  around: JsonObject | undefined,
): void {
  const { row } = context;
  const callId = block['type'] === 'tool_use' ? textOf(block['id']) : undefined;
  emit(
    context,
    'content_block:end',
    {
      ...runOf(context),
      block: callId === undefined ? block : without(block, 'input'),
      block_index: index,
      tool_call_id: callId,
      message_id: row.message['id'],
      claude_code: around,
    },
    { id: rowId(context, `block:${row.blocks.indexOf(block)}`) },
  );
  if (callId !== undefined) callOf(context, block, callId);
}

function callOf(context: RowContext, block: JsonObject, callId: string): void {
  const { row, stream } = context;
  const name = textOf(block['name']) ?? 'unknown';
  const input = objectOf(block['input']);
  emit(
    context,
    'tool:pre',
    {
      ...runOf(context),
      tool_name: name,
      tool_call_id: callId,
      tool_input: block['input'],
      parallel_group_id: row.message['id'],
    },
    { id: claudeIds.toolPre(callId) },
  );
  const agent = agentTools.has(name)
    ? (textOf(input?.['subagent_type']) ?? 'general-purpose')
    : undefined;
  const prompt = agent === undefined ? undefined : textOf(input?.['prompt']);
  const call = {
    name,
    time: context.time,
    ...(agent === undefined ? {} : { agent }),
    ...(prompt === undefined ? {} : { prompt }),
  };
  remember(stream.calls, callId, call, callsMax);
}

/** Early rows of an answer hold less than the last: told once, and again when it is more. */
function tellUsage(context: RowContext, answer: { readonly id: string; output: number }): void {
  const { row } = context;
  const usage = objectOf(row.message['usage']);
  const output = numberOf(usage?.['output_tokens']);
  if (usage === undefined || output <= answer.output) return;
  answer.output = output;
  emit(
    context,
    'llm:response',
    {
      ...runOf(context),
      provider: providerName,
      model: row.message['model'],
      stop_reason: row.message['stop_reason'],
      usage,
      message_id: answer.id,
      request_id: row.object['requestId'],
    },
    { id: `cc:usage:${idPart(answer.id)}:${output}` },
  );
}

function apiError(context: RowContext): void {
  const { row } = context;
  emit(
    context,
    'provider:error',
    {
      provider: providerName,
      error: row.object['error'] ?? messageText(row.blocks),
      message: messageText(row.blocks),
      claude_code: envelopeOf(row.object),
    },
    { id: rowId(context, 'error') },
  );
  closeRun(context, 'error');
}

function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}
