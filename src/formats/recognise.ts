import { isJsonObject, type JsonObject } from '#base';
import { isClaudeHook } from './claude-code/translate-hook.ts';
import { printedTypes } from './codex/printed.ts';
import { isCloudEvent } from './cloudevents/translate-event.ts';
import { envelopeOf } from './amplifier/translate-line.ts';

export const formatNames = [
  'amplifier',
  'claude-code',
  'claude-hooks',
  'codex',
  'otlp',
  'cloudevents',
] as const;

export type FormatName = (typeof formatNames)[number];

/** Row types of transcripts that can stand without a session id. */
const claudeTypes: ReadonlySet<unknown> = new Set([
  'user',
  'assistant',
  'system',
  'summary',
  'attachment',
  'progress',
  'queue-operation',
  'file-history-snapshot',
  'file-history-delta',
  'permission-mode',
  'custom-title',
  'ai-title',
  'agent-name',
  'last-prompt',
  'started',
  'result',
]);

const codexTypes: ReadonlySet<unknown> = new Set([
  'session_meta',
  'turn_context',
  'response_item',
  'event_msg',
  'compacted',
  'world_state',
  'inter_agent_communication_metadata',
]);

/** Items that old rollouts have at the top. */
const bareItems: ReadonlySet<unknown> = new Set([
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'web_search_call',
  'tool_call',
  'tool_result',
]);

/**
 * The format of a row, by what stands in it; a row that could be of several is of `last`, the format of the row before. Undefined for a row of
 * none.
 */
export function recognise(row: JsonObject, last: FormatName | undefined): FormatName | undefined {
  if (isClaudeHook(row)) return 'claude-hooks';
  if (isCloudEvent(row)) return 'cloudevents';
  if (Array.isArray(row['resourceSpans']) || Array.isArray(row['resourceLogs'])) return 'otlp';
  if (envelopeOf(row) !== undefined) return 'amplifier';
  const { type } = row;
  if (codexTypes.has(type) && isJsonObject(row['payload'])) return 'codex';
  if (isPrintedCodex(row, last)) return 'codex';
  if (isClaudeRow(row)) return 'claude-code';
  if (last === 'claude-code' && typeof type === 'string') return last;
  if (last === 'codex' && typeof type === 'string' && typeof row['timestamp'] === 'string')
    return last;
  return isBareCodex(row) ? 'codex' : undefined;
}

function isClaudeRow(row: JsonObject): boolean {
  const { type } = row;
  if (typeof type !== 'string' || isJsonObject(row['payload'])) return false;
  const hasIds = typeof row['uuid'] === 'string' || 'parentUuid' in row || 'leafUuid' in row;
  if (typeof row['sessionId'] === 'string' && ('uuid' in row || claudeTypes.has(type))) return true;
  if (!claudeTypes.has(type)) return false;
  // `claude -p --output-format stream-json`, and the journal of a workflow.
  const isPrinted = typeof row['session_id'] === 'string';
  const isJournal = typeof row['key'] === 'string' && typeof row['agentId'] === 'string';
  return hasIds || 'message' in row || 'snapshot' in row || isPrinted || isJournal;
}

/** What `codex exec --json` prints; its errors have no more than a message. */
function isPrintedCodex(row: JsonObject, last: FormatName | undefined): boolean {
  const { type } = row;
  if (type === 'error') return last === 'codex' && typeof row['message'] === 'string';
  if (type === 'thread.started') return typeof row['thread_id'] === 'string';
  if (!printedTypes.has(type)) return false;
  return isJsonObject(row['item']) || (last === 'codex' && !isJsonObject(row['payload']));
}

/** The first row of an old rollout, its state rows, and its items. */
function isBareCodex(row: JsonObject): boolean {
  const { type, role } = row;
  if (typeof row['record_type'] === 'string') return true;
  if (type === undefined && role === undefined)
    return (
      typeof row['id'] === 'string' && typeof row['timestamp'] === 'string' && 'instructions' in row
    );
  if (type === 'message') return typeof role === 'string' && 'content' in row;
  if (type === 'reasoning') return 'summary' in row || 'encrypted_content' in row;
  if (bareItems.has(type)) return true;
  return (
    type === undefined &&
    typeof role === 'string' &&
    typeof row['timestamp'] === 'string' &&
    'content' in row
  );
}
