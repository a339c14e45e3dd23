import { readEntry, withEntry, type Cursor } from '#record';
import type { Draft, Occurrence } from './occurrence.ts';
import { edge, end, kinds, sessionEnd } from './occurrence.ts';
import { composeRunId, parseRunId, placeholderRunId } from './run-id.ts';

/** How a run was found (ING-604); a cursor that was seeded from the graph (ING-613) counts as the cursor. */
export type RunSource = 'event' | 'cursor' | 'derived' | 'placeholder';

export interface ResolvedRun {
  readonly runId: string;
  readonly source: RunSource;
}

/** Members of `data` by which an event may name its run by its id; `run_name` names it by what a client calls it. */
const references = ['orch_run_id', 'orchestrator_run_id', 'run_id'] as const;
/** Start times that are remembered one by one; the floor speaks for those before them. */
const startsMax = 64;

/**
 * The run that an event belongs to (ING-601): the one it names, else the cursor's, else the one that the cursor's start time and number give
 * again, else the session's placeholder. The one function for all handlers that know runs.
 */
export function resolveRun(cursor: Cursor, occurrence: Occurrence): ResolvedRun {
  const { layer2 } = cursor;
  const named = namedRun(occurrence);
  if (named !== undefined) return { runId: named, source: 'event' };
  const open = layer2.active_run_id ?? layer2.open_runs.at(-1);
  if (open !== undefined) return { runId: open, source: 'cursor' };
  if (layer2.run_start_ts === null) return placeholderOf(occurrence);
  const start = { startText: layer2.run_start_ts, seq: Math.max(1, layer2.run_seq) };
  return { runId: composeRunId(occurrence.sessionNode, start), source: 'derived' };
}

/**
 * The run that an end event closes (ING-608): the one it names, else the innermost that is open and, for `execution:end`, had no such end;
 * without any open run the placeholder.
 */
export function resolveEndedRun(
  cursor: Cursor,
  occurrence: Occurrence,
  ended: readonly string[] = [],
): ResolvedRun {
  const resolved = resolveRun(cursor, occurrence);
  if (resolved.source !== 'cursor') return resolved;
  const { open_runs: open } = cursor.layer2;
  const innermost = open.filter((runId) => !ended.includes(runId)).at(-1) ?? open.at(-1);
  return innermost === undefined ? resolved : { runId: innermost, source: 'cursor' };
}

/**
 * The id of a run that begins, and the cursor that knows its number (ING-602, ING-603). A start that names its own run keeps that name: a hook and
 * a file that tell of one run know it by something else than its time (B80).
 */
export function beginRun(
  cursor: Cursor,
  occurrence: Occurrence,
): { readonly cursor: Cursor; readonly runId: string } {
  const { layer2 } = cursor;
  const named = namedRun(occurrence);
  const own = named === undefined ? undefined : parseRunId(occurrence.sessionNode, named);
  if (named !== undefined && own !== undefined) {
    const begun = { run_start_ts: own.startText, run_seq: own.seq, active_run_id: named };
    return { runId: named, cursor: { ...cursor, layer2: { ...layer2, ...begun } } };
  }
  const { atText: startText, at } = occurrence;
  const startMs = Math.max(0, at.epochMs);
  const before = readEntry(layer2.run_seq_by_ts, startText);
  // A start that may have been forgotten takes a number that no run of its time can have had.
  const hasForgotten = Object.keys(layer2.run_seq_by_ts).length >= startsMax;
  const first = hasForgotten && startMs <= layer2.run_floor_ms ? occurrence.seq + 1 : 1;
  const seq = before === undefined ? first : before + 1;
  const starts = withEntry(layer2.run_seq_by_ts, startText, [startMs, seq], startsMax);
  const forgotten = Object.entries(layer2.run_seq_by_ts)
    .filter(([text]) => !Object.hasOwn(starts, text))
    .map(([, [ms]]) => ms);
  const runId = composeRunId(occurrence.sessionNode, { startText, seq });
  return {
    runId,
    cursor: {
      ...cursor,
      layer2: {
        ...layer2,
        run_seq_by_ts: starts,
        run_floor_ms: Math.max(layer2.run_floor_ms, ...forgotten),
        run_start_ts: startText,
        run_seq: seq,
        active_run_id: runId,
      },
    },
  };
}

/** The cursor without a run that was completed; the next outer one is active again. */
export function completeRun(cursor: Cursor, occurrence: Occurrence, runId: string): Cursor {
  const { layer2 } = cursor;
  const open = layer2.open_runs.filter((other) => other !== runId);
  const other = layer2.active_run_id === runId ? null : layer2.active_run_id;
  const active = open.at(-1) ?? other;
  const start = active === null ? undefined : parseRunId(occurrence.sessionNode, active);
  return {
    ...cursor,
    layer2: {
      ...layer2,
      open_runs: open,
      ended_runs: layer2.ended_runs.filter((other) => other !== runId),
      active_run_id: active,
      run_start_ts: start?.startText ?? null,
      run_seq: start?.seq ?? 0,
    },
  };
}

/** What makes sure that the placeholder is there, as a part of its session; nothing for a real run. */
export function placeholderDrafts(occurrence: Occurrence, run: ResolvedRun): readonly Draft[] {
  if (run.source !== 'placeholder') return [];
  return [
    {
      kind: 'draft',
      id: run.runId,
      labels: kinds.run,
      values: { session_id: occurrence.session, unresolved: true },
    },
    edge(sessionEnd(occurrence), 'HAS_EXECUTION', end(occurrence, 'run', run.runId), 'CONTAINS'),
  ];
}

function namedRun({ data, sessionNode }: Occurrence): string | undefined {
  const { run_name: name } = data;
  if (typeof name === 'string') {
    const composed = composeRunId(sessionNode, { startText: name, seq: 1 });
    if (parseRunId(sessionNode, composed) !== undefined) return composed;
  }
  for (const member of references) {
    const value = data[member];
    if (typeof value === 'string' && parseRunId(sessionNode, value) !== undefined) return value;
  }
  return undefined;
}

function placeholderOf(occurrence: Occurrence): ResolvedRun {
  return { runId: placeholderRunId(occurrence.sessionNode), source: 'placeholder' };
}
