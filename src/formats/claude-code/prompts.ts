import { idPart, without } from '../event-draft.ts';
import { claudeIds, orchestratorName } from './ids.ts';
import { messageText } from './read-row.ts';
import { emit, envelopeOf, rowId, runOf, type RowContext } from './row-context.ts';

/** Texts that the client puts in a user's place: what a command printed, what a background task said. */
const notTyped =
  /^\s*<(local-command-stdout|local-command-stderr|local-command-caveat|bash-stdout|bash-stderr|bash-input|task-notification|system-reminder)>/;
const interrupted = /^\s*\[Request interrupted by user/;

/** A row of the user that holds no tool results: a prompt, an interruption, or words that nobody typed. */
export function userMessage(context: RowContext): void {
  const { row, stream } = context;
  const text = messageText(row.blocks);
  if (interrupted.test(text)) {
    interruption(context, text);
    return;
  }
  const isRepeated = row.promptId !== undefined && row.promptId === stream.promptId;
  const isTyped = row.object['isMeta'] !== true && row.object['isCompactSummary'] !== true;
  if (!isTyped || isRepeated || notTyped.test(text)) {
    emit(context, 'claude_code:user', without(row.object, 'type'), { id: rowId(context, 'user') });
    return;
  }
  closeRun(context);
  const name = idPart(row.promptId ?? row.uuid ?? rowId(context, 'prompt'));
  stream.run = name;
  stream.isRunOpen = true;
  if (row.promptId !== undefined) stream.promptId = row.promptId;
  delete stream.answer;
  emit(
    context,
    'prompt:submit',
    {
      prompt: text,
      content: hasMore(row.blocks) ? row.blocks : undefined,
      claude_code: envelopeOf(row.object),
    },
    { id: claudeIds.prompt(name) },
  );
  emit(
    context,
    'execution:start',
    { prompt: text, ...runOf(context) },
    { id: claudeIds.run(name) },
  );
}

/** A printed session does not show what was asked: its run begins with the first answer. */
export function beginPrintedRun(context: RowContext): void {
  const { stream, row } = context;
  if (stream.isPrinted !== true || stream.isRunOpen) return;
  stream.run = idPart(row.uuid ?? rowId(context, 'run'));
  stream.isRunOpen = true;
  emit(context, 'execution:start', runOf(context), { id: claudeIds.run(stream.run) });
}

/** Ends the run that is open; nothing without one. `time` of a run whose end nobody marked is that of the row that shows it. */
export function closeRun(
  context: RowContext,
  status: 'success' | 'cancelled' | 'error' = 'success',
): void {
  const { stream } = context;
  if (!stream.isRunOpen || stream.run === undefined) return;
  const run = runOf(context);
  stream.isRunOpen = false;
  emit(context, 'execution:end', { status, ...run }, { id: claudeIds.runEnd(stream.run) });
  emit(
    context,
    'orchestrator:complete',
    { orchestrator: orchestratorName, status, ...run },
    { id: claudeIds.complete(stream.run) },
  );
}

function interruption(context: RowContext, text: string): void {
  const { row } = context;
  emit(
    context,
    'cancel:completed',
    { was_immediate: true, reason: text, claude_code: envelopeOf(row.object) },
    { id: rowId(context, 'cancel') },
  );
  closeRun(context, 'cancelled');
}

/** Blocks that are no text stand in the event as they came: images, documents. */
function hasMore(blocks: readonly { readonly type?: unknown }[]): boolean {
  return blocks.some(({ type }) => type !== 'text');
}
