import type { JsonObject, JsonValue } from '#base';
import { listOf, objectOf, recall, textOf, without } from '../event-draft.ts';
import { agentSession, claudeIds } from './ids.ts';
import { emit, envelopeOf, rowId, runOf, type RowContext } from './row-context.ts';
import type { OpenCall } from './state.ts';
import { tellSpawn } from './subagents.ts';

/** A row of the user that carries results of calls; text beside them is kept as an event of its own. */
export function toolResults(context: RowContext): void {
  const { row } = context;
  const results = row.blocks.filter(({ type }) => type === 'tool_result');
  const whole = results.length === 1 ? row.object['toolUseResult'] : undefined;
  let isFirst = true;
  for (const result of results) {
    resultOf(context, result, whole, isFirst ? envelopeOf(row.object) : undefined);
    isFirst = false;
  }
  if (results.length < row.blocks.length)
    emit(context, 'claude_code:user', without(row.object, 'type', 'toolUseResult'), {
      id: rowId(context, 'user'),
    });
}

function resultOf(
  context: RowContext,
  block: JsonObject,
  whole: JsonValue | undefined,
  around: JsonObject | undefined,
): void {
  const callId = textOf(block['tool_use_id']);
  if (callId === undefined) {
    emit(
      context,
      'claude_code:tool_result',
      { ...block, claude_code: around },
      { id: rowId(context, 'result') },
    );
    return;
  }
  const { stream } = context;
  const call = recall(stream.calls, callId);
  delete stream.calls[callId];
  const isError = block['is_error'] === true;
  const told = {
    ...runOf(context),
    tool_name: call?.name,
    tool_call_id: callId,
    tool_use_result: whole,
    claude_code: around,
  };
  const id = claudeIds.toolPost(callId);
  if (isError)
    emit(context, 'tool:error', { ...told, error: contentText(block['content']) }, { id });
  else
    emit(
      context,
      'tool:post',
      { ...told, result: { success: true, output: block['content'] ?? null } },
      { id },
    );
  if (call?.agent !== undefined) delegationEnd(context, callId, call, whole, isError);
}

/** What a delegated call left behind names its sub-agent in newer versions; older ones showed it by their sidechain. */
function delegationEnd(
  context: RowContext,
  callId: string,
  call: OpenCall,
  whole: JsonValue | undefined,
  isError: boolean,
): void {
  const agentId = textOf(objectOf(whole)?.['agentId']);
  const child =
    call.child ?? (agentId === undefined ? undefined : agentSession(context.session, agentId));
  if (child === undefined) return;
  if (call.child === undefined) tellSpawn(context, callId, call, child);
  emit(
    context,
    isError ? 'delegate:error' : 'delegate:agent_completed',
    {
      agent: call.agent,
      sub_session_id: child,
      parent_session_id: context.session,
      tool_call_id: callId,
      success: !isError,
    },
    { id: claudeIds.spawnEnd(callId) },
  );
}

function contentText(content: JsonValue | undefined): JsonValue {
  if (typeof content === 'string') return content;
  const texts = listOf(content)
    .map((item) => textOf(objectOf(item)?.['text']))
    .filter((text) => text !== undefined);
  return texts.length > 0 ? texts.join('\n') : (content ?? 'error');
}
