import type { JsonObject, JsonValue } from '#base';
import { objectOf, slugOf, textOf, without } from '../event-draft.ts';
import { agentMessage, contentText } from './items.ts';
import { callEventId, callIn, emit, runOf, type RowContext } from './row-context.ts';
import { endRun, promptTold, turnStarted } from './turns.ts';

/** The log for people: turns, tokens, sub-agents; what the other log tells too is an event alone. */
export function eventMessage(context: RowContext): void {
  const known = Object.hasOwn(kinds, context.kind) ? kinds[context.kind] : undefined;
  if (known === undefined) other(context);
  else known(context);
}

const kinds: Readonly<Record<string, (context: RowContext) => void>> = {
  task_started: turnStarted,
  turn_started: turnStarted,
  // Printed: no prompt is shown, and the turn has no id; its run begins with its first item.
  'turn.started': (context) => {
    context.state.isPromptWaiting = true;
    other(context);
  },
  user_message: (context) => {
    const text = contentText(context.payload['message']);
    promptTold(context, text, 'messages');
  },
  agent_message: agentMessage,
  token_count: (context) => tokens(context, objectOf(context.payload['info'])),
  task_complete: turnEnded('success'),
  turn_complete: turnEnded('success'),
  'turn.completed': (context) => {
    const usage = objectOf(context.payload['usage']);
    if (usage !== undefined) tokens(context, { last_token_usage: usage });
    turnEnded('success')(context);
  },
  turn_aborted: (context) => {
    emit(context, 'cancel:completed', {
      ...runOf(context),
      was_immediate: true,
      ...without(context.payload, 'type'),
    });
    endRun(context, 'cancelled');
  },
  error: (context) => {
    emit(context, 'provider:error', {
      ...runOf(context),
      error: context.payload['message'] ?? context.payload['text'],
      codex: context.payload,
    });
  },
  collab_agent_spawn_end: spawned,
  collab_close_end: closed,
};

function turnEnded(status: 'success'): (context: RowContext) => void {
  return (context) => {
    other(context);
    const isFailed = objectOf(context.payload['error']) !== undefined;
    endRun(context, isFailed ? 'error' : status);
  };
}

function other(context: RowContext): void {
  const { payload, kind } = context;
  emit(context, `codex:${slugOf(kind)}`, {
    ...without(payload, 'type'),
    tool_call_id: payload['call_id'],
  });
}

/** The count after an answer; the same total again tells only of rate limits. */
function tokens(context: RowContext, info: JsonObject | undefined): void {
  const { state } = context;
  const last = objectOf(info?.['last_token_usage']) ?? plainCount(info);
  const total =
    info === undefined ? undefined : JSON.stringify(info['total_token_usage'] ?? last ?? null);
  if (last === undefined || (total === state.total && info?.['total_token_usage'] !== undefined)) {
    other(context);
    return;
  }
  if (total !== undefined) state.total = total;
  emit(context, 'llm:response', {
    ...runOf(context),
    provider: state.provider ?? 'openai',
    model: state.model,
    usage: { ...last, cache_read_tokens: last['cached_input_tokens'] ?? 0 },
    codex: without(context.payload, 'type'),
  });
  state.isAnswering = false;
}

/** An older version counts in two words. */
function plainCount(info: JsonObject | undefined): JsonObject | undefined {
  const input: JsonValue | undefined = info?.['prompt'] ?? info?.['input_tokens'];
  const output: JsonValue | undefined = info?.['completion'] ?? info?.['output_tokens'];
  if (typeof input !== 'number' || typeof output !== 'number') return undefined;
  return { input_tokens: input, output_tokens: output };
}

function spawned(context: RowContext): void {
  const { payload, session } = context;
  const child = textOf(payload['new_thread_id']);
  const call = callIn(payload['call_id']);
  if (child === undefined || call === undefined || child === session) {
    other(context);
    return;
  }
  emit(
    context,
    'delegate:agent_spawned',
    {
      agent: textOf(payload['new_agent_role']) ?? textOf(payload['new_agent_nickname']) ?? 'agent',
      sub_session_id: child,
      parent_session_id: session,
      tool_call_id: call,
      codex: payload,
    },
    { id: callEventId('spawn', call) },
  );
}

/** Closing is a call of its own, so the delegation is found by its child. */
function closed(context: RowContext): void {
  const { payload, session } = context;
  const child = textOf(payload['receiver_thread_id']);
  if (child === undefined || child === session) {
    other(context);
    return;
  }
  emit(context, 'codex:collab_close_end', { ...without(payload, 'type'), sub_session_id: child });
}
