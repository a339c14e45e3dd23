import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '#base';
import {
  createFileTranslator,
  joinDocument,
  splitLines,
  type FileTranslatorOptions,
  type LineOutcome,
  type TranslatorState,
} from '#formats';
import { buildLine, encodeKey, parseEvent, parseLine, type LogRecord } from '#record';
import { storedGraph, type StoredGraph } from '../handlers/stored-graph.ts';
import { withoutDuplicates } from '../handlers/sample-events.ts';

export const dataFolder: string = join(import.meta.dirname, '../data');

export interface TranslatedFile {
  readonly lines: number;
  readonly outcomes: readonly LineOutcome[];
  readonly records: readonly LogRecord[];
  /** Lines that gave nothing but a reject, and events that admission would refuse. */
  readonly rejects: readonly { readonly line: number; readonly code: string }[];
  readonly state: TranslatorState;
}

const lineBytesMax = 16 * 1024 * 1024;
const defaults = { workspace: 'w', time: '2026-07-20T09:00:00.000Z' };

export function sampleBytes(path: string): Uint8Array {
  return readFileSync(join(dataFolder, path));
}

/** As `millrace post` does it, up to the records of the log. */
export async function translateBytes(
  bytes: Uint8Array,
  options: FileTranslatorOptions = {},
): Promise<TranslatedFile> {
  const translator = createFileTranslator({
    ...options,
    defaults: { ...defaults, ...options.defaults },
  });
  const outcomes: LineOutcome[] = [];
  let lines = 0;
  const split = splitLines(oneChunk(bytes), { maxLineBytes: lineBytesMax });
  for await (const line of joinDocument(split, { maxLineBytes: lineBytesMax })) {
    lines += 1;
    outcomes.push(...translator.translate(line));
  }
  outcomes.push(...translator.end());
  const rejects: { line: number; code: string }[] = [];
  const records: LogRecord[] = [];
  for (const { source, bodies, reject } of outcomes) {
    if (reject !== undefined) rejects.push({ line: source.lineNumber, code: reject.code });
    for (const body of bodies) {
      const record = recordOfText(body);
      if (typeof record === 'string') rejects.push({ line: source.lineNumber, code: record });
      else records.push(record);
    }
  }
  return { lines, outcomes, records, rejects, state: translator.state() };
}

export function translateSample(
  path: string,
  options?: FileTranslatorOptions,
): Promise<TranslatedFile> {
  return translateBytes(sampleBytes(path), options);
}

/** The graph of these imports one behind the other, duplicates left out as admission leaves them out. */
export function graphOf(...imports: readonly (readonly LogRecord[])[]): Promise<StoredGraph> {
  return storedGraph(withoutDuplicates(imports.flat()));
}

/** A record of the log, or the code with which admission refuses the body. */
export function recordOfText(body: string): LogRecord | string {
  const bytes = Buffer.from(body);
  const { event, faults } = parseEvent(parseJson(bytes), bytes);
  if (event === undefined) return `${faults[0]?.code} ${faults[0]?.message}`;
  const line = buildLine(event, { acceptedAt: '2026-07-20T09:00:00.000Z', by: null });
  const { record, fault } = parseLine(line, encodeKey(event.workspace, event.session));
  if (record === undefined) throw new Error(fault);
  return record;
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}
