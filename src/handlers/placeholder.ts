import { withEntry, withoutEntry, type Cursor } from '#record';
import type { Draft, Occurrence, Outcome } from './occurrence.ts';
import { edge, end } from './occurrence.ts';
import { placeholderRunId } from './run-id.ts';

/** Iterations whose run may still become known. */
const waitingMax = 256;

/** Remembers an iteration that hangs on the placeholder, with its start time. */
export function awaitingRun(cursor: Cursor, occurrence: Occurrence, iteration: string): Cursor {
  const { layer2 } = cursor;
  const waiting = withEntry(
    layer2.placeholder_iterations,
    iteration,
    [occurrence.seq, occurrence.at.canonical],
    waitingMax,
  );
  return { ...cursor, layer2: { ...layer2, placeholder_iterations: waiting } };
}

/**
 * Moves iterations from the placeholder to their run (ING-607): the named one, or without a name each that began at the run's start or after
 * it. Such a start was logged late; without that a client's iterations stay where they are.
 */
export function reparented(
  cursor: Cursor,
  occurrence: Occurrence,
  runId: string,
  iteration?: string,
): Outcome {
  let { layer2 } = cursor;
  const drafts: Draft[] = [];
  for (const [id, [, startedAt]] of Object.entries(layer2.placeholder_iterations).sort(byId)) {
    const isMeant =
      iteration === undefined ? startedAt >= occurrence.at.canonical : id === iteration;
    if (!isMeant) continue;
    drafts.push(...moveDrafts(occurrence, id, runId));
    layer2 = {
      ...layer2,
      placeholder_iterations: withoutEntry(layer2.placeholder_iterations, id),
      iteration_run_id: layer2.active_iteration_id === id ? runId : layer2.iteration_run_id,
    };
  }
  return { cursor: { ...cursor, layer2 }, drafts };
}

function moveDrafts(occurrence: Occurrence, iteration: string, runId: string): readonly Draft[] {
  const part = end(occurrence, 'iteration', iteration);
  return [
    edge(end(occurrence, 'run', runId), 'HAS_PART', part, 'CONTAINS'),
    {
      kind: 'remove-edge',
      from: placeholderRunId(occurrence.sessionNode),
      type: 'HAS_PART',
      to: iteration,
    },
  ];
}

function byId(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : 1;
}

/** Blocks that come outside of any iteration after this are others than those before, whose numbers are forgotten. */
export function leaveStrayBlocks(stray: readonly string[]): readonly string[] {
  return stray.length === 0 ? stray : ['', ...stray.slice(1)];
}
