import type { Cursor } from '#record';
import { boundedNodeId } from './node-id.ts';
import type { Draft, Family, NodeDraft, Occurrence } from './occurrence.ts';
import { edge, end, kinds, sessionEnd, sourcedFrom, textOf } from './occurrence.ts';
import { reparented } from './placeholder.ts';
import { beginRun, completeRun, placeholderDrafts, resolveEndedRun } from './resolve-run.ts';

/** Runs that may be open one inside the other; the outermost goes first. */
const openRunsMax = 64;

/** `execution:start`: a run of the session begins; what hung on the placeholder and started later moves to it (ING-607). */
export const foldExecutionStart: Family = (before, occurrence) => {
  const { cursor: begun, runId } = beginRun(before, occurrence);
  const { last_prompt_id: prompt } = before.layer2;
  const run = end(occurrence, 'run', runId);
  const node: NodeDraft = {
    kind: 'draft',
    id: runId,
    labels: kinds.run,
    times: { started_at: occurrence.at.canonical },
    values: { session_id: occurrence.session },
  };
  const moved = reparented(begun, occurrence, runId);
  return {
    cursor: opened(moved.cursor, runId),
    drafts: [
      node,
      edge(sessionEnd(occurrence), 'HAS_EXECUTION', run, 'CONTAINS'),
      sourcedFrom(occurrence, 'run', runId),
      ...(prompt === null
        ? []
        : [edge(end(occurrence, 'prompt', prompt), 'TRIGGERS', run, 'LEADS_TO')]),
      ...moved.drafts,
    ],
  };
};

/** `execution:end`: the run stays open until `orchestrator:complete`, the one reliable mark of its end. */
export const foldExecutionEnd: Family = (cursor, occurrence) => {
  const { layer2 } = cursor;
  const run = resolveEndedRun(cursor, occurrence, layer2.ended_runs);
  const isOpen = layer2.open_runs.includes(run.runId);
  const ended = isOpen ? [...new Set([...layer2.ended_runs, run.runId])] : layer2.ended_runs;
  return {
    cursor: { ...cursor, layer2: { ...layer2, ended_runs: ended } },
    drafts: [
      ...placeholderDrafts(occurrence, run),
      {
        kind: 'draft',
        id: run.runId,
        labels: kinds.run,
        times: { ended_at: occurrence.at.canonical },
        values: { status: occurrence.data['status'], response: occurrence.data['response'] },
      },
      sourcedFrom(occurrence, 'run', run.runId),
    ],
  };
};

/** `orchestrator:complete`: closes the run, and names the orchestrator, unless it has no name (G8). */
export const foldOrchestratorComplete: Family = (before, occurrence) => {
  const { data, at } = occurrence;
  const run = resolveEndedRun(before, occurrence);
  const isPlaceholder = run.source === 'placeholder';
  const completed = completeRun(before, occurrence, run.runId);
  const cursor: Cursor = isPlaceholder
    ? before
    : { ...completed, layer2: { ...completed.layer2, last_completed_run_id: run.runId } };
  return {
    cursor,
    drafts: [
      ...placeholderDrafts(occurrence, run),
      {
        kind: 'draft',
        id: run.runId,
        labels: kinds.run,
        times: { completed_at: at.canonical },
        values: { orchestrator_name: data['orchestrator'] ?? '', turn_count: data['turn_count'] },
      },
      sourcedFrom(occurrence, 'run', run.runId),
      ...(isPlaceholder ? [] : orchestratorDrafts(occurrence)),
    ],
  };
};

function orchestratorDrafts(occurrence: Occurrence): readonly Draft[] {
  const given = textOf(occurrence.data['orchestrator']);
  if (given === undefined) return [];
  const name = boundedNodeId(given);
  const concept = { id: `orchestrator::${name}`, owner: null, labels: kinds.orchestrator };
  return [
    {
      kind: 'concept',
      concept: 'Orchestrator',
      name,
      occurredAt: occurrence.at.canonical,
    },
    edge(sessionEnd(occurrence), 'HAS_ATTRIBUTE', concept, 'EXPRESSES'),
  ];
}

/**
 * A run behind a new prompt begins a turn: what earlier turns left open was cancelled without a word. A run without one is nested, and its
 * outer run's iteration stays; else the old iteration is over (PG-23), unless it turned out to be this run's.
 */
function opened(cursor: Cursor, runId: string): Cursor {
  const { layer2 } = cursor;
  const isTurn = layer2.last_prompt_id !== null || layer2.open_runs.length === 0;
  const isIterationOver = isTurn && layer2.iteration_run_id !== runId;
  const open = isTurn ? [runId] : [...layer2.open_runs, runId].slice(-openRunsMax);
  return {
    ...cursor,
    layer2: {
      ...layer2,
      open_runs: open,
      ended_runs: layer2.ended_runs.filter((ended) => open.includes(ended)),
      last_prompt_id: null,
      ...(isIterationOver
        ? {
            active_iteration_id: null,
            iteration_run_id: null,
            block_seq: {},
            open_blocks: [],
          }
        : {}),
    },
  };
}
