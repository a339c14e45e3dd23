import { basename } from 'node:path';
import type { JsonObject } from '#base';
import {
  objectOf,
  projectSlug,
  shortHash,
  slugOf,
  textOf,
  without,
  type EventDraft,
} from '../event-draft.ts';
import { timeIn } from '../row-clock.ts';
import type { SourceDefaults } from '../translated.ts';
import { responseItem } from './items.ts';
import { eventMessage } from './messages.ts';
import { printedRows } from './printed.ts';
import { emit, type RowContext } from './row-context.ts';
import type { CodexState } from './state.ts';
import { needRun } from './turns.ts';

export interface CodexPlace {
  readonly lineNumber: number;
}

/** Own time of a row; a payload may tell it where the row does not. */
export function codexRowTime(object: JsonObject): string | undefined {
  return timeIn(object['timestamp']) ?? timeIn(objectOf(object['payload'])?.['timestamp']);
}

/** Events of one row. Changes `state`; nothing else is known but the rows before (P5). */
export function translateCodexRow(
  object: JsonObject,
  text: string,
  at: { readonly time: string; readonly lineNumber: number },
  { state, defaults }: { readonly state: CodexState; readonly defaults: SourceDefaults },
): readonly EventDraft[] {
  const printed = printedRows(object, state.run);
  const isPrinted = printed !== undefined;
  const { type, payload } = isPrinted
    ? (printed[0] ?? { type: 'event_msg', payload: {} })
    : unwrapped(object);
  const isHeader = type === 'session_meta';
  const isFirst = state.session === undefined;
  state.session ??= sessionOf(isHeader ? payload : {}, text, defaults);
  const told = defaults.workspace ?? projectSlug(textOf(payload['cwd']));
  const workspace = state.workspace ?? told ?? (isHeader ? 'codex' : undefined);
  if (workspace !== undefined) state.workspace = workspace;
  const ordinal = object['ordinal'];
  const line = typeof ordinal === 'number' ? `o${ordinal}` : String(at.lineNumber);
  const context: RowContext = {
    state,
    payload,
    kind: textOf(payload['type']) ?? type,
    workspace: state.workspace ?? 'codex',
    session: state.session,
    time: at.time,
    place: `${line}:${shortHash(text)}`,
    events: [],
  };
  if (isFirst) begin(context, isHeader);
  if (isHeader && isFirst) return context.events;
  if (!isPrinted) {
    translate(context, type);
    return context.events;
  }
  // Ids of printed items hold within their turn alone, so its run is needed before they are told.
  if (objectOf(object['item']) !== undefined) needRun(context);
  for (const row of printedRows(object, state.run) ?? []) {
    const kind = textOf(row.payload['type']) ?? row.type;
    translate({ ...context, payload: row.payload, kind }, row.type);
  }
  return context.events;
}

function translate(context: RowContext, type: string): void {
  const { payload, state } = context;
  const { model } = payload;
  if (type === 'turn_context' && typeof model === 'string') state.model = model;
  if (type === 'response_item') responseItem(context);
  else if (type === 'event_msg') eventMessage(context);
  else if (type === 'compacted') {
    state.isAnswering = false;
    emit(context, 'context:post_compact', payload);
  } else emit(context, `codex:${slugOf(type)}`, payload);
}

/** The first row begins the session; one with a parent is a sub-agent's, one with an origin a fork. */
function begin(context: RowContext, isHeader: boolean): void {
  const { payload, state, session } = context;
  const told = isHeader ? payload : {};
  const provider = textOf(told['model_provider']);
  if (provider !== undefined) state.provider = provider;
  const at = { id: 'cx:start', workingDir: textOf(told['cwd']) };
  const origin = textOf(told['forked_from_id']);
  const parent = parentOf(told);
  if (origin !== undefined && origin !== session)
    emit(context, 'session:fork', { ...told, parent: origin }, at);
  else if (parent !== undefined && parent !== session)
    emit(context, 'session:start', { ...told, parent_id: parent }, at);
  else emit(context, 'session:start', told, at);
}

/** The thread that spawned this one; some versions tell it within `source`. */
function parentOf(header: JsonObject): string | undefined {
  const spawn = objectOf(objectOf(objectOf(header['source'])?.['subagent'])?.['thread_spawn']);
  return textOf(header['parent_thread_id']) ?? textOf(spawn?.['parent_thread_id']);
}

/** Older files have items at the top, and a first row without a type. */
function unwrapped(object: JsonObject): { readonly type: string; readonly payload: JsonObject } {
  const payload = objectOf(object['payload']);
  const type = textOf(object['type']);
  if (payload !== undefined && type !== undefined) return { type, payload };
  if (
    type === undefined &&
    object['role'] === undefined &&
    textOf(object['record_type']) === undefined
  )
    return { type: 'session_meta', payload: object };
  const record = textOf(object['record_type']);
  if (record !== undefined) return { type: record, payload: without(object, 'record_type') };
  if (type === 'error') return { type: 'event_msg', payload: object };
  return {
    type: 'response_item',
    payload: type === undefined ? { ...object, type: 'message' } : object,
  };
}

/** The header's id, else the one in the name of the file, else one made of the first row. */
function sessionOf(header: JsonObject, text: string, defaults: SourceDefaults): string {
  const named = textOf(header['id']) ?? textOf(header['session_id']) ?? defaults.session;
  const ofFile = /-([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\.jsonl/i.exec(
    basename(defaults.path ?? ''),
  );
  return named ?? ofFile?.[1] ?? `codex-${shortHash(text)}`;
}
