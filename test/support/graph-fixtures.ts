import { parseJson, type JsonObject } from '#base';
import type { GroupPart, Mutation, Step } from '#graph';
import { fold } from '#handlers';
import {
  buildLine,
  emptyCursor,
  encodeKey,
  formatPosition,
  parseEvent,
  parseLine,
  type Cursor,
  type Key,
  type LogRecord,
  type Position,
} from '#record';

export const spillBytes: number = 32 * 1024;

/** A body of `POST /v1/events` as the log keeps it: through the parser and the line of a real one. */
export function recordOf(body: JsonObject): LogRecord {
  const bytes = Buffer.from(JSON.stringify(body));
  const { event, faults } = parseEvent(parseJson(bytes), bytes);
  if (event === undefined) throw new Error(JSON.stringify(faults));
  const line = buildLine(event, { acceptedAt: '2026-01-01T00:00:00.000Z', by: null });
  const { record, fault } = parseLine(line, encodeKey(event.workspace, event.session));
  if (record === undefined) throw new Error(fault);
  return record;
}

export function positionAt(count: number): Position {
  return formatPosition({ ordinal: 0, offset: count, epoch: 'epoch-1' });
}

/** The `count`-th record of a key, with these mutations. */
export function stepAt(count: number, mutations: readonly Mutation[], cursor?: Cursor): Step {
  return {
    at: positionAt(count - 1),
    after: positionAt(count),
    sha256: count.toString(16).padStart(64, '0'),
    mutations,
    cursor: cursor ?? emptyCursor(),
  };
}

/** The whole log of each key as one part, in the order in which keys first come. */
export function foldLogs(records: readonly LogRecord[]): readonly GroupPart[] {
  const logs = new Map<Key, { part: GroupPart; steps: Step[]; cursor: Cursor }>();
  for (const record of records) {
    const { key, workspace, session } = record;
    const log = logs.get(key) ?? newLog(key, workspace, session);
    logs.set(key, log);
    const folded = fold(log.cursor, record, { spillBytes });
    log.steps.push(stepAt(log.steps.length + 1, folded.mutations, folded.cursor));
    log.cursor = folded.cursor;
  }
  return [...logs.values()].map(({ part }) => part);
}

/** Cuts logs into groups that take up to `keys` keys with up to `steps` records each, in turn. */
export function cutGroups(
  logs: readonly GroupPart[],
  size: { readonly keys: number; readonly steps: number },
): readonly (readonly GroupPart[])[] {
  const groups: GroupPart[][] = [];
  let waiting = logs.filter(({ steps }) => steps.length > 0);
  while (waiting.length > 0) {
    const taken = waiting.slice(0, size.keys);
    groups.push(taken.map((part) => ({ ...part, steps: part.steps.slice(0, size.steps) })));
    const rest = taken.map((part) => ({ ...part, steps: part.steps.slice(size.steps) }));
    waiting = [...waiting.slice(size.keys), ...rest.filter(({ steps }) => steps.length > 0)];
  }
  return groups;
}

export function stepCount(group: readonly GroupPart[]): number {
  return group.reduce((sum, { steps }) => sum + steps.length, 0);
}

function newLog(
  key: Key,
  workspace: string,
  session: string,
): { part: GroupPart; steps: Step[]; cursor: Cursor } {
  const steps: Step[] = [];
  return { part: { key, workspace, session, steps }, steps, cursor: emptyCursor() };
}
