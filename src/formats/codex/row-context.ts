import type { JsonObject, JsonValue } from '#base';
import { defined, idPart, type EventDraft } from '../event-draft.ts';
import type { CodexState } from './state.ts';

/** One row while it is translated. */
export interface RowContext {
  readonly state: CodexState;
  readonly payload: JsonObject;
  /** Type of the payload. */
  readonly kind: string;
  readonly workspace: string;
  readonly session: string;
  readonly time: string;
  /** Place and bytes of the row: the client gives rows no ids. */
  readonly place: string;
  readonly events: EventDraft[];
}

export const orchestratorName = 'codex';

/** Without an id: the n-th event of this row. */
export function emit(
  context: RowContext,
  event: string,
  data: Readonly<Record<string, JsonValue | undefined>>,
  options: { readonly id?: string | undefined; readonly workingDir?: string | undefined } = {},
): void {
  const { workspace, session, time, place, events } = context;
  const id = options.id ?? `cx:${place}:${events.length}`;
  events.push({
    event,
    workspace,
    session,
    time,
    id,
    data: defined(data),
    workingDir: options.workingDir,
  });
}

/** The run to which the row belongs, by the name of its turn (B80). */
export function runOf({ state }: RowContext): { readonly run_name?: string } {
  return state.run === undefined ? {} : { run_name: state.run };
}

/** A call's own id where it looks like one; redactors leave words in its place. */
export function callIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && /^[\w.:|-]+$/.test(value) ? value : undefined;
}

export function callEventId(kind: 'pre' | 'post' | 'spawn' | 'spawn-end', call: string): string {
  return `cx:${kind}:${idPart(call)}`;
}
