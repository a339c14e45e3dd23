import { isJsonObject, JsonInvalid, parseJson, type JsonObject, type JsonValue } from '#base';
import { keyParts, type Key } from './key.ts';
import type { LogRecord } from './log-record.ts';

/** A stored line that is none: a defect or damage below the crc; the reader says which. */
export interface LineFault {
  readonly record?: undefined;
  readonly fault: string;
}

export type ParsedLine = { readonly record: LogRecord; readonly fault?: undefined } | LineFault;

/** Newest line format that this program reads. */
const lineVersion = 1;

/** Parses a stored line, with or without the backend's `crc`, without loss (D30). */
export function parseLine(bytes: Uint8Array, key: Key): ParsedLine {
  const line = readObject(bytes);
  if ('fault' in line) return line as LineFault;
  return lineOf(line.object, key);
}

function readObject(bytes: Uint8Array): { readonly object: JsonObject } | LineFault {
  try {
    const value = parseJson(bytes);
    return isJsonObject(value) ? { object: value } : { fault: 'the line is not a JSON object' };
  } catch (error) {
    if (error instanceof JsonInvalid) return { fault: `the line is not JSON: ${error.message}` };
    throw error;
  }
}

function lineOf(line: JsonObject, key: Key): ParsedLine {
  const { v, id, derived, at, by, ev, data, more } = line;
  if (typeof v === 'number' && v > lineVersion)
    return { fault: `line version ${v} is newer than ${lineVersion}` };
  if (v !== lineVersion)
    return { fault: `line version ${JSON.stringify(v)} is not ${lineVersion}` };
  const session = line['sid'] ?? keyParts(key)?.session;
  if (typeof session !== 'string') return { fault: 'the line names no session' };
  const workspace = line['ws'];
  if (typeof workspace !== 'string') return { fault: 'the line names no workspace' };
  if (typeof at !== 'string' || typeof ev !== 'string') return { fault: 'at or ev is not a text' };
  if (!isTextOrAbsent(id) || !isTextOrAbsent(by)) return { fault: 'id or by is not a text' };
  if (!isJsonObject(data)) return { fault: 'data is not an object' };
  if (more !== undefined && !isJsonObject(more)) return { fault: 'more is not an object' };
  const record: LogRecord = {
    key,
    workspace,
    session,
    id: id ?? undefined,
    isDerivedId: derived === true,
    acceptedAt: at,
    by: by ?? null,
    event: ev,
    data,
    more,
  };
  return { record };
}

function isTextOrAbsent(value: JsonValue | undefined): value is string | null | undefined {
  return value === undefined || value === null || typeof value === 'string';
}
