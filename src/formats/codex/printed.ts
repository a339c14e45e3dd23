import type { JsonObject, JsonValue } from '#base';
import { objectOf, textOf, without } from '../event-draft.ts';

/** A row as rollouts have it. */
export interface RolloutRow {
  readonly type: string;
  readonly payload: JsonObject;
}

/** Types of the rows that `codex exec --json` prints. */
export const printedTypes: ReadonlySet<unknown> = new Set([
  'thread.started',
  'turn.started',
  'turn.completed',
  'turn.failed',
  'item.started',
  'item.updated',
  'item.completed',
]);

/**
 * What `codex exec --json` prints, as the rows of a rollout that tell the same. It shows no prompt and no times, and numbers its items anew in each
 * turn: `turn` goes before their ids. Undefined for every other row.
 */
export function printedRows(
  row: JsonObject,
  turn: string | undefined,
): readonly RolloutRow[] | undefined {
  const { type } = row;
  if (!printedTypes.has(type) || isRollout(row)) return undefined;
  switch (type) {
    case 'thread.started':
      return [
        {
          type: 'session_meta',
          payload: { ...without(row, 'type'), id: row['thread_id'] ?? null },
        },
      ];
    case 'turn.started':
    case 'turn.completed':
      return [message(row)];
    case 'turn.failed': {
      const error = objectOf(row['error']) ?? { message: row['error'] ?? null };
      return [message({ ...error, type: 'error' }), message({ ...row, type: 'turn.completed' })];
    }
    default:
      return itemRows(textOf(type) ?? '', objectOf(row['item']) ?? {}, turn);
  }
}

function isRollout(row: JsonObject): boolean {
  return objectOf(row['payload']) !== undefined;
}

function message(payload: JsonObject): RolloutRow {
  return { type: 'event_msg', payload };
}

function item(payload: JsonObject): RolloutRow {
  return { type: 'response_item', payload };
}

function itemRows(
  type: string,
  given: JsonObject,
  turn: string | undefined,
): readonly RolloutRow[] {
  const kind = textOf(given['type']) ?? textOf(given['item_type']) ?? 'unknown';
  const text = given['text'] ?? '';
  const isCompleted = type === 'item.completed';
  const call = callOf(kind, given);
  if (call !== undefined) {
    const call_id = `${turn ?? 'turn'}.${textOf(given['id']) ?? kind}`;
    const begun = item({ type: 'function_call', name: call.name, arguments: call.input, call_id });
    if (type === 'item.started') return [begun];
    return isCompleted
      ? [begun, item({ type: 'function_call_output', call_id, output: call.output })]
      : [];
  }
  if (!isCompleted) return [message({ ...given, type: type.replace('.', '_'), item_type: kind })];
  if (kind === 'agent_message' || kind === 'assistant_message')
    return [item({ type: 'message', role: 'assistant', content: text })];
  if (kind === 'reasoning') return [item({ ...without(given, 'id'), type: 'reasoning' })];
  if (kind === 'error') return [message(given)];
  return [message({ ...given, type: kind })];
}

interface Call {
  readonly name: string;
  readonly input: JsonObject;
  readonly output: JsonObject;
}

/** Items that are calls: what was asked, and what came of it. */
function callOf(kind: string, given: JsonObject): Call | undefined {
  const success = given['status'] !== 'failed' && objectOf(given['error']) === undefined;
  const told = (name: string, input: JsonObject, output: JsonValue | undefined): Call => ({
    name,
    input,
    output: { success, output: output ?? null },
  });
  switch (kind) {
    case 'command_execution': {
      const exit_code = given['exit_code'] ?? null;
      const call = told('exec_command', pick(given, 'command'), given['aggregated_output']);
      return { ...call, output: { ...call.output, metadata: { exit_code } } };
    }
    case 'file_change':
      return told('apply_patch', pick(given, 'changes'), given['changes']);
    case 'mcp_tool_call': {
      const name = [given['server'], given['tool']].map((part) => textOf(part) ?? 'mcp').join('__');
      const input = objectOf(given['arguments']) ?? pick(given, 'arguments');
      return told(name, input, given['result'] ?? given['error']);
    }
    case 'web_search':
      return told('web_search', pick(given, 'query'), given['action']);
    default:
      return undefined;
  }
}

function pick(given: JsonObject, name: string): JsonObject {
  return { [name]: given[name] ?? null };
}
