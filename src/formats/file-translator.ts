import {
  isJsonObject,
  isMillraceError,
  JsonInvalid,
  messageOf,
  parseJson,
  type JsonObject,
} from '#base';
import { isTimestamp } from '#record';
import { translateObject } from './amplifier/translate-line.ts';
import { newClaudeState, type ClaudeState } from './claude-code/state.ts';
import { translateHook } from './claude-code/translate-hook.ts';
import { sessionOfRow } from './claude-code/read-row.ts';
import { claudeRowTime, translateClaudeRow } from './claude-code/translate-row.ts';
import { translateCloudEvent } from './cloudevents/translate-event.ts';
import { newCodexState, type CodexState } from './codex/state.ts';
import { codexRowTime, translateCodexRow } from './codex/translate-row.ts';
import { bodyOfDraft, projectOfPath, shortHash, type EventDraft } from './event-draft.ts';
import { TraceSessions } from './otlp/trace-sessions.ts';
import { translateLogs } from './otlp/translate-logs.ts';
import { translateTraces } from './otlp/translate-traces.ts';
import { formatNames, recognise, type FormatName } from './recognise.ts';
import { newRowClock, tick, timeIn, type RowClock } from './row-clock.ts';
import type { SourceLine } from './split-lines.ts';
import type { SourceDefaults, Translated } from './translated.ts';

/** What became of one line: the bodies of its events, or why there are none. */
export interface LineOutcome {
  readonly source: SourceLine;
  readonly format: FormatName | undefined;
  /** Bodies of `POST /v1/events`, in order; empty for a line with nothing to send. */
  readonly bodies: readonly string[];
  readonly reject?: Extract<Translated, { kind: 'reject' }>;
}

/** All that a translator remembers; plain JSON, so that a follower of a file can go on after a restart. */
export interface TranslatorState {
  readonly version: 1;
  format?: FormatName;
  claude?: ClaudeState;
  codex?: CodexState;
  hooks?: RowClock;
}

export interface FileTranslatorOptions {
  readonly defaults?: SourceDefaults;
  /** Takes every line as this format, whatever stands in it. */
  readonly format?: FormatName | undefined;
  readonly state?: TranslatorState | undefined;
}

/** Translates the lines of one file in order; what a line gives depends on the lines before it and on nothing else. */
export interface FileTranslator {
  /** Outcomes of this line, and of lines before it that had waited for a time. */
  translate(line: SourceLine): readonly LineOutcome[];
  /** At the end: what still waits takes the file's own time. */
  end(): readonly LineOutcome[];
  /** Of the lines so far; nothing may be waiting (`end`). */
  state(): TranslatorState;
}

/** Rows in front of the first time that are held back; more are sent with the file's time. */
const heldLinesMax = 256;
const heldBytesMax = 1024 * 1024;
/** Deeper nesting is refused before anything walks it; admission is stricter. */
const depthMax = 1000;
const epoch = '1970-01-01T00:00:00Z';

export function createFileTranslator(options: FileTranslatorOptions = {}): FileTranslator {
  return new RowTranslator(options);
}

interface Held {
  readonly source: SourceLine;
  readonly object: JsonObject;
  readonly text: string;
  readonly format: 'claude-code' | 'codex';
}

class RowTranslator implements FileTranslator {
  readonly #defaults: SourceDefaults;
  readonly #forced: FormatName | undefined;
  readonly #state: TranslatorState;
  #held: Held[] = [];
  #heldBytes = 0;
  /** Of the requests so far; a follower that starts again begins without it, as a daemon does. */
  readonly #traces = new TraceSessions();

  constructor({ defaults = {}, format, state }: FileTranslatorOptions) {
    this.#defaults = defaults;
    this.#forced = format;
    this.#state = structuredClone(state ?? { version: 1 });
  }

  translate(source: SourceLine): readonly LineOutcome[] {
    const bytes = withoutNulls(source.bytes);
    if (bytes.length === 0 && source.bytes.length === 0) return [nothing(source)];
    const read = readRow(bytes);
    if (read === undefined) return [nothing(source)];
    if ('kind' in read) return [{ ...nothing(source), reject: read }];
    const { object } = read;
    const format = this.#forced ?? recognise(object, this.#state.format);
    if (format === undefined) return [{ ...nothing(source), reject: noFormat(object) }];
    this.#state.format = format;
    if (format === 'claude-code' || format === 'codex')
      return this.#row({ source, object, text: Buffer.from(bytes).toString('utf8'), format });
    return [
      readable(source, () => {
        if (format === 'amplifier') return this.#amplifier(source, object, bytes);
        if (format === 'claude-hooks') return this.#hook(source, object);
        return this.#ofService(source, object, format);
      }),
    ];
  }

  end(): readonly LineOutcome[] {
    const { time } = this.#defaults;
    return this.#release(time !== undefined && isTimestamp(time) ? time : epoch);
  }

  state(): TranslatorState {
    return structuredClone(this.#state);
  }

  /** A line of an Amplifier log whose folder names the project needs no other word for its workspace. */
  #amplifier(source: SourceLine, object: JsonObject, bytes: Uint8Array): LineOutcome {
    const workspace = this.#defaults.workspace ?? projectOfPath(this.#defaults.path);
    const translated = translateObject(object, bytes, { ...this.#defaults, workspace });
    const told = { source, format: 'amplifier', bodies: [] } as const;
    if (translated.kind === 'event') return { ...told, bodies: [translated.body] };
    return translated.kind === 'reject' ? { ...told, reject: translated } : told;
  }

  /** A payload says nothing of its time: in a file they follow each other by the microsecond. */
  #hook(source: SourceLine, object: JsonObject): LineOutcome {
    const clock = (this.#state.hooks ??= newRowClock());
    const own =
      timeIn(object['timestamp']) ?? (clock.lastUs === undefined ? this.#defaults.time : undefined);
    const time = tick(clock, own ?? (clock.lastUs === undefined ? epoch : undefined)) ?? epoch;
    const placeId = `ch:${source.lineNumber}:${shortHash(source.bytes)}`;
    const drafts = translateHook(object, { time, workspace: this.#defaults.workspace, placeId });
    return outcome(source, 'claude-hooks', drafts);
  }

  /** A request of OTLP/JSON, or one CloudEvent, as exporters write them into files. */
  #ofService(source: SourceLine, object: JsonObject, format: 'otlp' | 'cloudevents'): LineOutcome {
    const { workspace, time = epoch } = this.#defaults;
    const told =
      format === 'otlp'
        ? readOtlp(object, workspace, time, this.#traces)
        : readCloudEvent(object, workspace, time);
    return { source, format, ...told };
  }

  /** A row waits for the first time of the file, and for the first word of whose it is. */
  #row(row: Held): readonly LineOutcome[] {
    const time = ownTime(row);
    if (this.#isTimeKnown(row, time) && this.#isSessionKnown(row))
      return [...this.#release(time), readable(row.source, () => this.#send(row, time))];
    this.#held.push(row);
    this.#heldBytes += row.source.bytes.length;
    const isFull = this.#held.length >= heldLinesMax || this.#heldBytes >= heldBytesMax;
    return isFull ? this.end() : [];
  }

  #isTimeKnown({ format }: Held, time: string | undefined): boolean {
    return time !== undefined || this.#clockOf(format).lastUs !== undefined;
  }

  /** Names the session for the rows that waited, too. */
  #isSessionKnown({ format, object }: Held): boolean {
    if (format === 'codex') return true;
    const state = (this.#state.claude ??= newClaudeState());
    const told = state.session ?? sessionOfRow(object) ?? this.#defaults.session;
    if (told !== undefined) state.session = told;
    return told !== undefined;
  }

  /** Rows without a time that waited happened at the first time of the file, in their order. */
  #release(time: string | undefined): readonly LineOutcome[] {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held.map((row) => {
      const isFirst = this.#clockOf(row.format).lastUs === undefined;
      return readable(row.source, () =>
        this.#send(row, ownTime(row) ?? (isFirst ? time : undefined)),
      );
    });
  }

  #send({ source, object, text, format }: Held, own: string | undefined): LineOutcome {
    const time = tick(this.#clockOf(format), own) ?? epoch;
    const defaults = this.#defaults;
    if (format === 'codex') {
      const state = (this.#state.codex ??= newCodexState());
      const at = { time, lineNumber: source.lineNumber };
      return outcome(source, format, translateCodexRow(object, text, at, { state, defaults }));
    }
    const state = (this.#state.claude ??= newClaudeState());
    return outcome(source, format, translateClaudeRow(object, text, time, { state, defaults }));
  }

  #clockOf(format: 'claude-code' | 'codex'): RowClock {
    return format === 'codex'
      ? (this.#state.codex ??= newCodexState()).clock
      : (this.#state.claude ??= newClaudeState()).clock;
  }
}

function ownTime({ format, object }: Held): string | undefined {
  return format === 'codex' ? codexRowTime(object) : claudeRowTime(object);
}

/** What a line is that is of no format, where it can be told: the next step is then another. */
function noFormat(object: JsonObject): ReturnType<typeof invalid> {
  if (Array.isArray(object['resourceMetrics']))
    return invalid('the line is a request of OTLP metrics, and metrics are not kept');
  if (typeof object['role'] === 'string' && 'content' in object && object['type'] === undefined)
    return invalid(
      'the line is a message of a transcript and no event; of Amplifier post events.jsonl, which lies beside it',
    );
  return invalid(`the line is of no format that millrace knows (${formatNames.join(', ')})`);
}

/** A line that a defect of ours keeps from being read is refused like any other that cannot be: the rest of the file goes in. */
function readable(source: SourceLine, read: () => LineOutcome): LineOutcome {
  try {
    return read();
  } catch (error) {
    if (isMillraceError(error)) throw error;
    const message = `the line cannot be read (${messageOf(error)}): this is a bug, report it`;
    return { ...nothing(source), reject: { kind: 'reject', code: 'EVENT_INVALID', message } };
  }
}

function outcome(
  source: SourceLine,
  format: FormatName,
  drafts: readonly EventDraft[],
): LineOutcome {
  return { source, format, bodies: drafts.map((draft) => bodyOfDraft(draft)) };
}

type Told = Pick<LineOutcome, 'bodies' | 'reject'>;

function readOtlp(
  object: JsonObject,
  workspace: string | undefined,
  time: string,
  traces: TraceSessions,
): Told {
  try {
    const told = Array.isArray(object['resourceSpans'])
      ? translateTraces(object, workspace, traces)
      : translateLogs(object, { workspace, time }, traces);
    const bodies = told.drafts.map(({ draft }) => bodyOfDraft(draft));
    return told.refused === 0 ? { bodies } : { bodies, reject: invalid(told.reason) };
  } catch (error) {
    if (error instanceof JsonInvalid) return { bodies: [], reject: invalid(error.message) };
    throw error;
  }
}

function readCloudEvent(object: JsonObject, workspace: string | undefined, time: string): Told {
  const told = translateCloudEvent(object, { workspace, time });
  if ('fault' in told) return { bodies: [], reject: invalid(`no CloudEvent: ${told.fault}`) };
  return { bodies: [bodyOfDraft(told.draft, { isOwnId: told.isOwnId })] };
}

function invalid(message: string): Extract<Translated, { kind: 'reject' }> {
  return { kind: 'reject', code: 'EVENT_INVALID', message };
}

function nothing(source: SourceLine): LineOutcome {
  return { source, format: undefined, bodies: [] };
}

/** After a crash file systems leave runs of NUL in front of records; the record behind them is whole (formats 7). */
function withoutNulls(bytes: Uint8Array): Uint8Array {
  let from = 0;
  let to = bytes.length;
  while (from < to && bytes[from] === 0) from += 1;
  while (to > from && bytes[to - 1] === 0) to -= 1;
  return bytes.subarray(from, to);
}

type Read = { readonly object: JsonObject } | Extract<Translated, { kind: 'reject' }>;

/** Undefined for a blank line. */
function readRow(bytes: Uint8Array): Read | undefined {
  if (bytes.length === 0)
    return { kind: 'reject', code: 'RECORD_NOT_JSON', message: 'the line is a run of NUL bytes' };
  if (bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)) return undefined;
  try {
    const value = parseJson(bytes, { depthMax });
    if (isJsonObject(value)) return { object: value };
    return { kind: 'reject', code: 'EVENT_INVALID', message: 'the line is not a JSON object' };
  } catch (error) {
    if (!(error instanceof JsonInvalid)) throw error;
    return {
      kind: 'reject',
      code: 'RECORD_NOT_JSON',
      message: `the line is not JSON: ${error.message}`,
    };
  }
}
