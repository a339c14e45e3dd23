import type { JsonObject } from '#base';
import {
  type EventDraft,
  objectOf,
  projectOfPath,
  projectSlug,
  recall,
  shortHash,
  slugOf,
  textOf,
  without,
} from '../event-draft.ts';
import { timeIn } from '../row-clock.ts';
import type { SourceDefaults } from '../translated.ts';
import { assistantMessage } from './answers.ts';
import { claudeIds, providerName } from './ids.ts';
import { closeRun, userMessage } from './prompts.ts';
import { readRow, sessionOfPath, type ClaudeRow } from './read-row.ts';
import { emit, envelopeOf, rowId, streamOf, type RowContext } from './row-context.ts';
import type { ClaudeState } from './state.ts';
import { matchChain, streamOfRow } from './subagents.ts';
import { toolResults } from './tool-results.ts';

/** Own time of a row, before anything is made of it. */
export function claudeRowTime(object: JsonObject): string | undefined {
  return timeIn(object['timestamp']) ?? timeIn(objectOf(object['snapshot'])?.['timestamp']);
}

/** Events of one row. Changes `state`; nothing else is known but the rows before (P5: a longer file gives the same events, and more). */
export function translateClaudeRow(
  object: JsonObject,
  text: string,
  time: string,
  { state, defaults }: { readonly state: ClaudeState; readonly defaults: SourceDefaults },
): readonly EventDraft[] {
  const row = readRow(object, text);
  const main = mainSession(row, state, defaults);
  const workspace = workspaceOf(row, state, defaults);
  const { session, isChainStart } = streamOfRow(row, main, state);
  const isKnown = recall(state.streams, session) !== undefined;
  const stream = streamOf(state, session);
  const context: RowContext = { row, state, workspace, time, session, stream, events: [] };
  if (!isKnown) begin(context, main);
  if (isChainStart) matchChain(context, main);
  translate(context);
  if (row.uuid !== undefined) state.anchor = row.uuid;
  return context.events;
}

function translate(context: RowContext): void {
  const { row } = context;
  const hasResult = row.blocks.some(({ type }) => type === 'tool_result');
  if (row.type === 'assistant') assistantMessage(context);
  else if (row.type === 'user' && hasResult) toolResults(context);
  else if (row.type === 'user') userMessage(context);
  else bookkeeping(context);
}

/** A row tells its own session: rows of one session in the file of another were seen. Others belong to the last one that was told. */
function mainSession(row: ClaudeRow, state: ClaudeState, defaults: SourceDefaults): string {
  const told = row.session ?? state.session ?? defaults.session ?? sessionOfPath(defaults.path);
  const session = told ?? `claude-code-${shortHash(row.text)}`;
  state.session = session;
  return session;
}

/** Named by whoever posts, else the project's folder, else the folder of the first row that tells one. */
function workspaceOf(row: ClaudeRow, state: ClaudeState, defaults: SourceDefaults): string {
  const known = defaults.workspace ?? state.workspace;
  if (known !== undefined) return known;
  const told = projectOfPath(defaults.path) ?? projectSlug(textOf(row.object['cwd']));
  if (told !== undefined) state.workspace = told;
  return told ?? 'claude-code';
}

/** The first row of a stream begins its session; a fork names where it comes from, a sub-agent its main session. */
function begin(context: RowContext, main: string): void {
  const { row, session } = context;
  const { object } = row;
  const told = {
    cwd: object['cwd'],
    version: object['version'],
    git_branch: object['gitBranch'],
    entrypoint: object['entrypoint'],
  };
  const at = { id: claudeIds.start, workingDir: textOf(object['cwd']) };
  const origin = textOf(objectOf(object['forkedFrom'])?.['sessionId']);
  if (session !== main) {
    const agent_id = row.agentId;
    emit(context, 'session:start', { ...told, parent_id: main, agent_id }, at);
  } else if (origin !== undefined && origin !== session)
    emit(context, 'session:fork', { ...told, parent: origin }, at);
  else emit(context, 'session:start', told, at);
}

/** Every other row is an event under its own name; a few have a name in the event model. */
function bookkeeping(context: RowContext): void {
  const { row } = context;
  const { object } = row;
  const attachment = objectOf(object['attachment']);
  const kind = textOf(object['subtype']) ?? textOf(attachment?.['type']);
  const id = rowId(context, 'row');
  if (row.type === 'system' && kind === 'compact_boundary') {
    const compacted = { ...objectOf(object['compactMetadata']), claude_code: envelopeOf(object) };
    emit(context, 'context:post_compact', compacted, { id });
    return;
  }
  if (row.type === 'system' && kind === 'api_error') {
    emit(context, 'provider:retry', { provider: providerName, ...without(object, 'type') }, { id });
    return;
  }
  if (kind === 'queued_command') {
    const prompt = attachment?.['prompt'];
    emit(context, 'orchestrator:steering_injected', { prompt, claude_code: object }, { id });
    return;
  }
  const word = kind ?? textOf(object['operation']) ?? textOf(objectOf(object['data'])?.['type']);
  emit(context, `claude_code:${slugOf(row.type, word)}`, without(object, 'type'), { id });
  if (kind === 'turn_duration' || kind === 'stop_hook_summary') closeRun(context);
  if (row.type === 'system' && kind === 'init') context.stream.isPrinted = true;
  if (row.type === 'result' && kind !== undefined)
    closeRun(context, object['is_error'] === true ? 'error' : 'success');
}
