import { emptyCursor, sessionNodeId, type Cursor } from '#record';
import { parseRunId } from './run-id.ts';

/**
 * The cursor of a key whose own was lost although its log was read past the start (ING-613): the session's latest open run, as the graph
 * knows it, else an empty one. The worker makes it durable before it folds the first record.
 */
export function seedCursor(session: string, openRunId: string | undefined): Cursor {
  const empty = emptyCursor();
  const start = openRunId === undefined ? undefined : parseRunId(sessionNodeId(session), openRunId);
  if (openRunId === undefined || start === undefined) return empty;
  return {
    ...empty,
    layer2: {
      ...empty.layer2,
      run_start_ts: start.startText,
      run_seq: start.seq,
      active_run_id: openRunId,
      open_runs: [openRunId],
    },
  };
}
