import { sha256Hex, type JsonObject, type JsonValue } from '#base';
import { defined, type EventDraft, idPart, recall, remember, shortHash } from '../event-draft.ts';
import type { ClaudeRow } from './read-row.ts';
import { newStream, streamsMax, type ClaudeState, type StreamState } from './state.ts';

/** One row while it is translated: where it belongs, and the events made of it so far. */
export interface RowContext {
  readonly row: ClaudeRow;
  readonly state: ClaudeState;
  readonly workspace: string;
  readonly time: string;
  /** Session of the row's stream: the main one, or that of a sub-agent. */
  readonly session: string;
  readonly stream: StreamState;
  readonly events: EventDraft[];
}

/** Id of the n-th thing in this row. A row without an id of its own is known by its bytes and by the row before it. */
export function rowId({ row, state }: RowContext, part: string): string {
  const name =
    row.uuid ?? `${shortHash(state.anchor)}:${sha256Hex(Buffer.from(row.text)).slice(0, 32)}`;
  return `cc:${idPart(name)}:${part}`;
}

export interface Told {
  readonly id: string | undefined;
  readonly time?: string;
  /** Another session than the row's. */
  readonly session?: string;
  readonly workingDir?: string | undefined;
}

export function emit(
  context: RowContext,
  event: string,
  data: Readonly<Record<string, JsonValue | undefined>>,
  told: Told,
): void {
  const { workspace } = context;
  context.events.push({
    event,
    workspace,
    session: told.session ?? context.session,
    time: told.time ?? context.time,
    id: told.id,
    data: defined(data),
    workingDir: told.workingDir,
  });
}

export function streamOf(state: ClaudeState, session: string): StreamState {
  const stream = recall(state.streams, session) ?? newStream();
  remember(state.streams, session, stream, streamsMax);
  return stream;
}

/** What stands around a message in its row, kept once with the row's first event. */
export function envelopeOf(object: JsonObject): JsonObject {
  const { message: _message, toolUseResult: _result, type: _type, ...rest } = object;
  return rest;
}

/** The run to which the row belongs: later rows name it, since a hook may have begun it at another time (B80). */
export function runOf({ stream }: RowContext): { readonly run_name?: string } {
  return stream.run === undefined ? {} : { run_name: stream.run };
}
