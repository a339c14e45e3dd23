import { idPart, shortHash, textOf } from '../event-draft.ts';
import { emit, orchestratorName, runOf, type RowContext } from './row-context.ts';
import { textsMax, type CodexState } from './state.ts';

/** Texts that the client puts in front of the user's own. */
const notTyped =
  /^\s*(<(environment_context|user_instructions|turn_aborted|permissions|collaboration_mode|skill)\b|# AGENTS\.md instructions)/;

export type TurnEnd = 'success' | 'cancelled' | 'error';

/** A turn is announced: its run begins with the prompt, whichever of both stands first. */
export function turnStarted(context: RowContext): void {
  const { state, payload, kind } = context;
  if (state.isRunOpen) endRun(context, 'success');
  state.turn = textOf(payload['turn_id']) ?? context.place;
  emit(context, `codex:${kind}`, payload);
  if (state.isPromptWaiting) beginRun(context);
}

/** A prompt; the same text in the other log of the file is an event alone. */
export function promptTold(context: RowContext, text: string, log: Log): void {
  const { state, payload } = context;
  if (notTyped.test(text) || isToldAgain(state, log, `user:${text}`)) {
    emit(context, log === 'items' ? 'codex:message' : 'codex:user_message', payload);
    return;
  }
  if (state.isRunOpen && state.isRunTurn) {
    emit(context, 'orchestrator:steering_injected', {
      ...runOf(context),
      prompt: text,
      codex: payload,
    });
    return;
  }
  if (state.isRunOpen) endRun(context, 'success');
  state.isAnswering = false;
  emit(context, 'prompt:submit', { prompt: text, codex: payload });
  state.isPromptWaiting = true;
  if (state.turn !== undefined) beginRun(context);
}

/** Whatever the model or a tool does happens in a run. */
export function needRun(context: RowContext): void {
  const { state } = context;
  if (!state.isRunOpen && (state.isPromptWaiting || state.turn !== undefined)) beginRun(context);
}

function beginRun(context: RowContext): void {
  const { state } = context;
  state.isRunTurn = state.turn !== undefined;
  state.run = idPart(state.turn ?? context.place);
  state.isRunOpen = true;
  state.isPromptWaiting = false;
  delete state.turn;
  emit(context, 'execution:start', runOf(context));
}

/** Nothing without an open run: older versions repeat the end. */
export function endRun(context: RowContext, status: TurnEnd): void {
  const { state, payload } = context;
  state.isAnswering = false;
  delete state.turn;
  if (!state.isRunOpen) return;
  state.isRunOpen = false;
  const response = payload['last_agent_message'];
  emit(context, 'execution:end', { ...runOf(context), status, response });
  emit(context, 'orchestrator:complete', {
    ...runOf(context),
    orchestrator: orchestratorName,
    status,
  });
}

/** The two logs of a file: what goes to the model, and what is shown to people. */
export type Log = 'items' | 'messages';

/** Whether the other log told this text already; else it is remembered for it. The same log may well say a thing twice. */
export function isToldAgain(state: CodexState, log: Log, text: string): boolean {
  const hash = shortHash(text);
  const at = state.texts.indexOf(`${log === 'items' ? 'messages' : 'items'}:${hash}`);
  if (at >= 0) {
    state.texts.splice(at, 1);
    return true;
  }
  state.texts = [...state.texts, `${log}:${hash}`].slice(-textsMax);
  return false;
}
