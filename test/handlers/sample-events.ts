import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject, parseJson, type JsonObject, type JsonValue } from '#base';
import { fold, type Folded } from '#handlers';
import {
  buildLine,
  emptyCursor,
  encodeKey,
  parseEvent,
  parseLine,
  type Cursor,
  type Key,
  type LogRecord,
} from '#record';

const data = join(import.meta.dirname, '../data');

export function sampleText(path: string): string {
  return readFileSync(join(data, path), 'utf8');
}

/** Bodies of `POST /events` as the reference graphs were made from (golden/README.md): log lines wrapped, ready bodies as they are. */
export function goldenBodies(path: string): readonly JsonObject[] {
  return sampleText(path)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => parseJson(line) as JsonObject)
    .map((line) => (isJsonObject(line['schema']) ? wrapped(line) : line));
}

function wrapped(line: JsonObject): JsonObject {
  const { ts, event, session_id } = line as Record<string, JsonValue>;
  const own = isJsonObject(line['data']) ? line['data'] : {};
  return { event, workspace: 'golden', data: { ...own, session_id, timestamp: ts } } as JsonObject;
}

/** A body as the log keeps it: through the same parser and line as a real one. */
export function recordOf(body: JsonObject): LogRecord {
  const bytes = Buffer.from(JSON.stringify(body));
  const { event, faults } = parseEvent(parseJson(bytes), bytes);
  if (event === undefined) throw new Error(JSON.stringify(faults));
  const line = buildLine(event, { acceptedAt: '2026-07-20T09:00:00.000Z', by: null });
  const { record, fault } = parseLine(line, encodeKey(event.workspace, event.session));
  if (record === undefined) throw new Error(fault);
  return record;
}

/** Records of sent ids that came before are left out, as dedup leaves them out. */
export function withoutDuplicates(records: readonly LogRecord[]): readonly LogRecord[] {
  const seen = new Set<string>();
  return records.filter(({ key, id }) => {
    if (id === undefined) return true;
    const isNew = !seen.has(`${key}\n${id}`);
    seen.add(`${key}\n${id}`);
    return isNew;
  });
}

export const spillBytes: number = 32 * 1024;

/** Frozen at every depth: a fold that changes its input throws. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

/** Folds records, each key from its own cursor, which is stored and read between any two. */
export function foldAll(
  records: readonly LogRecord[],
  onFolded: (folded: Folded, record: LogRecord) => void,
): ReadonlyMap<Key, Cursor> {
  const cursors = new Map<Key, Cursor>();
  for (const record of records) {
    const cursor = deepFreeze(cursors.get(record.key) ?? emptyCursor());
    const folded = fold(cursor, deepFreeze(record), { spillBytes });
    onFolded(folded, record);
    cursors.set(record.key, JSON.parse(JSON.stringify(folded.cursor)) as Cursor);
  }
  return cursors;
}
